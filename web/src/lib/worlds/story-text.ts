/** The text of a story: what is said, what is done (between asterisks), and what is outside the story (in double brackets). */
export type StoryPart = { kind: 'speech' | 'action' | 'outside'; text: string };

const PARTS = /\(\(([\s\S]*?)\)\)|\*+([^*\n]+)\*+/g;

/** A paragraph in parts, in order; asterisks and brackets are taken off. */
export function storyParts(text: string): StoryPart[] {
	const parts: StoryPart[] = [];
	let end = 0;
	for (const found of text.matchAll(PARTS)) {
		if (found.index > end) parts.push({ kind: 'speech', text: text.slice(end, found.index) });
		const outside = found[1];
		parts.push(outside === undefined ? { kind: 'action', text: found[2] ?? '' } : { kind: 'outside', text: outside.trim() });
		end = found.index + found[0].length;
	}
	if (end < text.length) parts.push({ kind: 'speech', text: text.slice(end) });
	return parts;
}

/** The paragraphs of a text. */
export function paragraphs(text: string): string[] {
	return text.split(/\n\s*\n/).filter((one) => one.trim());
}

export type LineKind = 'speech' | 'action' | 'outside';

/** What was typed, marked as the kind of line that was chosen. Text that is marked already stays as it is. */
export function markLine(text: string, kind: LineKind): string {
	const line = text.trim();
	if (kind === 'action' && !line.includes('*')) return `*${line}*`;
	if (kind === 'outside' && !line.startsWith('((')) return `((${line}))`;
	return line;
}
