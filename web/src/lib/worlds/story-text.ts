/** The text of a story: what is said, what is done (between asterisks), and what is outside the story (in double brackets). */
export type StoryPart = { kind: 'speech' | 'action' | 'outside'; text: string };

const ASIDE = /\(\(([\s\S]*?)\)\)/g;
const ASIDE_TO_THE_END = /(?<!\S)\(\(([\s\S]*)$/;
const ACTION = /(?<!\*)\*+([^*\n]+)\*+/g;

/** A paragraph in parts, in order; asterisks and brackets are taken off. */
export function storyParts(text: string): StoryPart[] {
	const parts: StoryPart[] = [];
	const closed = text.includes('))') ? text.lastIndexOf('))') + 2 : 0; // beyond it no aside ends
	let end = 0;
	for (const found of text.slice(0, closed).matchAll(ASIDE)) {
		parts.push(...actions(text.slice(end, found.index)), { kind: 'outside', text: (found[1] ?? '').trim() });
		end = found.index + found[0].length;
	}
	const rest = text.slice(end);
	const open = ASIDE_TO_THE_END.exec(rest); // not closed
	parts.push(...actions(open ? rest.slice(0, open.index) : rest));
	if (open) parts.push({ kind: 'outside', text: (open[1] ?? '').trim() });
	return parts;
}

function actions(text: string): StoryPart[] {
	const parts: StoryPart[] = [];
	let end = 0;
	for (const found of text.matchAll(ACTION)) {
		if (found.index > end) parts.push({ kind: 'speech', text: text.slice(end, found.index) });
		parts.push({ kind: 'action', text: found[1] ?? '' });
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
