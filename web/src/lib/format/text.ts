/** Formats dates, counts, ids and text for display. */
const DATE: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short', year: 'numeric' };

/** A date with its year. */
export function formatDate(moment: string): string {
	return new Date(moment).toLocaleDateString(undefined, DATE);
}

/** A date and a time of day. */
export function formatDateTime(moment: string): string {
	return new Date(moment).toLocaleString(undefined, { ...DATE, hour: '2-digit', minute: '2-digit' });
}

/** A number with its noun: `1 message`, `2,410 messages`. */
export function pluralize(count: number, one: string, many = `${one}s`): string {
	return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}

/** The last characters of an id, enough to recognise it. */
export function shortId(id: string): string {
	return id.length > 12 ? id.slice(-8) : id;
}

/** The text with its first letter in upper case. */
export function capitalize(text: string): string {
	return text.charAt(0).toUpperCase() + text.slice(1);
}

// Format, control and separator characters, and letters that show nothing; not tabs and line ends.
const HIDDEN = /(?![\t\n\r])(?:[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\u2800]|\u034f|\u17b4|\u17b5)/gu;

/** Code or output with what cannot be seen written out, such as `\u{202e}`: it could make a line look like another one. */
export function writeOutHidden(text: string): string {
	return text.replace(HIDDEN, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}}`);
}

/** Markdown as one line of plain text, for lists. */
export function stripMarkdown(text: string): string {
	return text
		.replace(/```[\w-]*\n?/g, ' ')
		.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
		.replace(/^\s*(?:#{1,6}|>|[-*+]|\d+\.)\s+/gm, '')
		.replace(/\|?\s*:?-{3,}:?\s*\|?/g, ' ')
		.replace(/(\*\*|__|`)/g, '')
		.replace(/\s+/g, ' ')
		.trim();
}
