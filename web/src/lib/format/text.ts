/** Numbers, dates and names as a person reads them. */
const DATE: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short', year: 'numeric' };

/** A date with its year. */
export function dateOf(moment: string): string {
	return new Date(moment).toLocaleDateString(undefined, DATE);
}

/** A date and a time of day. */
export function momentOf(moment: string): string {
	return new Date(moment).toLocaleString(undefined, { ...DATE, hour: '2-digit', minute: '2-digit' });
}

/** A number with its noun: `1 message`, `2,410 messages`. */
export function counted(count: number, one: string, many = `${one}s`): string {
	return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}

/** The end of an id: enough to tell it from others. */
export function handle(id: string): string {
	return id.length > 12 ? id.slice(-8) : id;
}

/** The first letter large. */
export function sentence(words: string): string {
	return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Markdown as one line of plain words, for lists. */
export function plainly(text: string): string {
	return text
		.replace(/```[\w-]*\n?/g, ' ')
		.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
		.replace(/^\s*(?:#{1,6}|>|[-*+]|\d+\.)\s+/gm, '')
		.replace(/\|?\s*:?-{3,}:?\s*\|?/g, ' ')
		.replace(/(\*\*|__|`)/g, '')
		.replace(/\s+/g, ' ')
		.trim();
}
