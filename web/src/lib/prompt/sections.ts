/** The sections of a prompt: what they are called, which colour they have, what stands in them. */
import { routes } from '$lib/routes';
import type { Piece, Prompt, Section } from './prompt';

const NAMES: Record<string, string> = {
	you: 'Instructions',
	decades: 'Decades, summed up',
	years: 'Years, summed up',
	months: 'Months, summed up',
	weeks: 'Weeks, summed up',
	days: 'Days, summed up',
	open: 'What is open',
	lessons: 'Lessons',
	recalled: 'Remembered',
	dialogue: 'Said lately',
	question: 'The question'
};
const HUES: Record<string, number> = {
	you: 6,
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
	duplicate: 'it stands elsewhere already',
	'section budget': 'its section is full',
	'soft budget': 'the prompt is long enough',
	'hard budget': 'there is no room left',
	tier: 'something more important took its place'
};

export const nameOf = (section: Section): string => NAMES[section.name] ?? section.name;
export const colourOf = (section: Section): string => `var(--who-${HUES[section.name] ?? 6})`;
export const reasonOf = (piece: Piece): string => REASONS[piece.left_out] ?? piece.left_out;

/** The words of a piece. Instructions are Everloop's own; what was taken back since says nothing any more. */
export function wordsOf(piece: Piece): string {
	if (piece.text) return piece.text;
	if (piece.sort === 'instructions') return 'Who Everloop is, what day it is, and how to use what stands below.';
	return piece.sort === 'gone' ? 'Taken back since.' : piece.key;
}

/** What is in, and what is not. */
export function parted(section: Section): { kept: Piece[]; left: Piece[] } {
	return {
		kept: section.pieces.filter((piece) => !piece.left_out),
		left: section.pieces.filter((piece) => piece.left_out)
	};
}

/** Tokens of what was left out. */
export function leftOut(prompt: Prompt): number {
	return prompt.sections.flatMap((section) => parted(section).left).reduce((sum, piece) => sum + piece.tokens, 0);
}

/** Where a piece comes from. */
export function sourceOf(piece: Piece, threadId?: string): string | null {
	if (piece.sort === 'message') return routes.thread(threadId, { message: piece.key });
	if (piece.sort === 'memory') return routes.memory(piece.key);
	if (piece.sort === 'lessons') return routes.lessons(piece.key);
	return null;
}

/** What an answer stood on, counted: the margin's short list. */
export function stoodOn(prompt: Prompt): { label: string; count: number; colour: string }[] {
	const shown = prompt.sections.filter((section) => !['you', 'question'].includes(section.name));
	return shown
		.map((section) => ({
			label: nameOf(section),
			count: parted(section).kept.length,
			colour: colourOf(section)
		}))
		.filter(({ count }) => count > 0);
}
