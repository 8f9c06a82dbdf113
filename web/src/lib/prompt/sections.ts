/** The sections of a prompt: names, colours, contents and sources. */
import { routes } from '$lib/routes';
import type { Piece, Prompt, Section } from './prompt';

const NAMES: Record<string, string> = {
	you: 'Identity',
	instructions: 'Your instructions',
	decades: 'Decade summaries',
	years: 'Year summaries',
	months: 'Month summaries',
	weeks: 'Week summaries',
	days: 'Day summaries',
	open: 'Open questions',
	lessons: 'Rules (lessons)',
	parts: 'Earlier today and yesterday',
	now: 'Date and time',
	files: 'Files',
	pictures: 'Pictures',
	recalled: 'From memory',
	dialogue: 'Recent messages',
	question: 'Your message'
};
const HUES: Record<string, number> = {
	you: 6,
	instructions: 4,
	parts: 3,
	now: 6,
	files: 2,
	pictures: 2,
	decades: 8,
	years: 8,
	months: 8,
	weeks: 3,
	days: 3,
	open: 7,
	lessons: 4,
	recalled: 5,
	dialogue: 2,
	question: 1
};
const REASONS: Record<string, string> = {
	duplicate: 'already included',
	'section budget': 'section limit reached',
	'soft budget': 'target length reached',
	'hard budget': 'maximum length reached',
	tier: 'replaced by something more important'
};

/** The texts of a prompt that are kept word for word, in the order in which they are shown. */
export const SENT_TEXTS = [
	{ name: 'system', title: 'System prompt' },
	{ name: 'tools', title: 'Tools' },
	{ name: 'before_message', title: 'Added before your message' }
];

export const sectionName = (section: Section): string => NAMES[section.name] ?? section.name;
export const sectionColour = (section: Section): string => `var(--who-${HUES[section.name] ?? 6})`;
export const omissionReason = (piece: Piece): string => REASONS[piece.left_out] ?? piece.left_out;

/** The text of a piece. Instructions and deleted pieces have none, so they are described. */
export function pieceText(piece: Piece): string {
	if (piece.text) return piece.text;
	if (piece.sort === 'instructions') return 'Who Everloop is, and how to use the sections below.';
	if (piece.sort === 'clock') return 'The date and time where you are.';
	if (piece.sort === 'nothing') return 'Memory was searched; nothing fits.';
	return piece.sort === 'gone' ? 'Deleted since.' : piece.key;
}

/** The pieces of a section that were included, and those that were left out. */
export function splitPieces(section: Section): { included: Piece[]; omitted: Piece[] } {
	return {
		included: section.pieces.filter((piece) => !piece.left_out),
		omitted: section.pieces.filter((piece) => piece.left_out)
	};
}

/** How many tokens were left out of a prompt. */
export function omittedTokens(prompt: Prompt): number {
	return prompt.sections.flatMap((section) => splitPieces(section).omitted).reduce((sum, piece) => sum + piece.tokens, 0);
}

/** The address of a piece's source, if it has one. */
export function sourceUrl(piece: Piece, threadId?: string): string | null {
	if (piece.sort === 'message') return routes.thread(threadId, { message: piece.key });
	if (piece.sort === 'memory') return routes.memory(piece.key);
	if (piece.sort === 'lessons') return routes.lessons(piece.key);
	return null;
}

/** How many sources of each kind an answer had, for the short list beside it. */
export function countSources(prompt: Prompt): { label: string; count: number; colour: string }[] {
	const shown = prompt.sections.filter((section) => !['you', 'question'].includes(section.name));
	return shown
		.map((section) => ({
			label: sectionName(section),
			count: splitPieces(section).included.length,
			colour: sectionColour(section)
		}))
		.filter(({ count }) => count > 0);
}
