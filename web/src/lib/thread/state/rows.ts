/** From what is known to what is shown: one list of rows, in order. Pure, so that it can be tested. */
import { dayOf } from '$lib/format/days';
import type { Coming, Fold, Letter, Message, Row } from '../types';

/** What was said, and the past that is folded. */
export function pastRows(folds: Fold[], messages: Message[]): Row[] {
	const rows: Row[] = [];
	const shown = new Set<string>();
	for (const fold of folds) addFold(rows, shown, fold, 0);
	addMessages(rows, shown, messages);
	return rows;
}

/** All rows of the page: those of the past stay the same ones, however fast an answer comes. */
export function rowsOf(past: Row[], coming: Coming[], letters: Letter[]): Row[] {
	if (!coming.length && !letters.length) return past;
	const rows = [...past];
	const shown = new Set(past.map((row) => row.key));
	coming.forEach((one, index) => {
		const key = one.turn.answer_id || one.turn.turn_id;
		if (!shown.has(key)) rows.push({ sort: 'coming', key, coming: one, ahead: index });
	});
	for (const letter of letters) {
		const key = `msg-${letter.letterId}`;
		if (!shown.has(key)) rows.push({ sort: 'letter', key, letter });
	}
	return rows;
}

function addFold(rows: Row[], shown: Set<string>, fold: Fold, depth: number): void {
	rows.push({ sort: 'fold', key: `fold-${fold.band.key}`, fold, open: fold.open, depth });
	if (!fold.open) return;
	for (const below of fold.below) addFold(rows, shown, below, depth + 1);
	for (const message of fold.messages) addMessage(rows, shown, message, fold.band.first);
}

function addMessages(rows: Row[], shown: Set<string>, messages: Message[]): void {
	let day = '';
	for (const message of messages) {
		const now = dayOf(message.said_at);
		if (now !== day) rows.push({ sort: 'day', key: `day-${now}`, day: now });
		day = now;
		addMessage(rows, shown, message, now);
	}
}

function addMessage(rows: Row[], shown: Set<string>, message: Message, day: string): void {
	if (shown.has(message.message_id)) return;
	shown.add(message.message_id);
	rows.push({ sort: 'message', key: message.message_id, message, day });
}

/** The day that a row belongs to, for the date that stays in sight. */
export function dayOfRow(row: Row | undefined): string {
	if (row?.sort === 'day' || row?.sort === 'message') return row.day;
	return '';
}

/**
 * The windows to fold away: those that today's pyramid shows and that end before the first message that stands in full.
 * What is newer than the newest of them is read message by message.
 */
export function foldsBefore(bands: Fold['band'][], first: Message | undefined): Fold[] {
	if (!first) return [];
	const day = dayOf(first.said_at);
	return bands
		.filter((band) => band.shown && band.until <= day && band.messages > 0)
		.map((band) => ({ band, open: false, below: [], messages: [] }));
}

/** A message put in its place: by its time, or in place of the one with its id. */
export function withMessage(messages: Message[], message: Message): Message[] {
	const known = messages.findIndex((one) => one.message_id === message.message_id);
	if (known >= 0) return messages.with(known, message);
	let end = messages.length;
	while (end > 0 && isLater(messages[end - 1] as Message, message)) end -= 1;
	return [...messages.slice(0, end), message, ...messages.slice(end)];
}

function isLater(one: Message, other: Message): boolean {
	const difference = Date.parse(one.said_at) - Date.parse(other.said_at);
	return difference > 0 || (difference === 0 && one.position > other.position);
}
