/** Builds the list of rows that the thread page shows. Pure, so that it can be tested. */
import { toIsoDay } from '$lib/format/days';
import type { Message, OutgoingMessage, PendingAnswer, Period, Row } from '../types';

/** The rows of recorded messages and of collapsed periods. */
export function historyRows(periods: Period[], messages: Message[]): Row[] {
	const rows: Row[] = [];
	const shown = new Set<string>();
	for (const period of periods) addPeriod(rows, shown, period, 0);
	addMessages(rows, shown, messages);
	return rows;
}

/** All rows of the page. The history rows stay the same objects, however fast an answer streams in. */
export function allRows(history: Row[], pending: PendingAnswer[], outgoing: OutgoingMessage[]): Row[] {
	if (!pending.length && !outgoing.length) return history;
	const rows = [...history];
	const shown = new Set(history.map((row) => row.key));
	pending.forEach((answer, index) => {
		const key = answer.turn.answer_id || answer.turn.turn_id;
		if (!shown.has(key)) rows.push({ type: 'pending', key, answer, ahead: index });
	});
	for (const message of outgoing) {
		const key = `msg-${message.letterId}`;
		if (!shown.has(key)) rows.push({ type: 'outgoing', key, outgoing: message });
	}
	return rows;
}

function addPeriod(rows: Row[], shown: Set<string>, period: Period, depth: number): void {
	rows.push({ type: 'period', key: `period-${period.band.key}`, period, open: period.open, depth });
	if (!period.open) return;
	for (const below of period.below) addPeriod(rows, shown, below, depth + 1);
	for (const message of period.messages) addMessage(rows, shown, message, period.band.first);
}

function addMessages(rows: Row[], shown: Set<string>, messages: Message[]): void {
	let day = '';
	for (const message of messages) {
		const now = toIsoDay(message.said_at);
		if (now !== day) rows.push({ type: 'day', key: `day-${now}`, day: now });
		day = now;
		addMessage(rows, shown, message, now);
	}
}

function addMessage(rows: Row[], shown: Set<string>, message: Message, day: string): void {
	if (shown.has(message.message_id)) return;
	shown.add(message.message_id);
	rows.push({ type: 'message', key: message.message_id, message, day });
}

/** The day of a row, for the sticky date. */
export function dayOfRow(row: Row | undefined): string {
	if (row?.type === 'day' || row?.type === 'message') return row.day;
	return '';
}

/**
 * The periods to show as summaries: those in the current summary pyramid that end before the first message shown in full.
 * Everything newer is shown message by message.
 */
export function collapsedPeriods(bands: Period['band'][], first: Message | undefined): Period[] {
	if (!first) return [];
	const day = toIsoDay(first.said_at);
	return bands
		.filter((band) => band.shown && band.until <= day && band.messages > 0)
		.map((band) => ({ band, open: false, below: [], messages: [] }));
}

/** Insert a message by time, or replace the one with the same id. */
export function insertMessage(messages: Message[], message: Message): Message[] {
	const existing = messages.findIndex((one) => one.message_id === message.message_id);
	if (existing >= 0) return messages.with(existing, message);
	let end = messages.length;
	while (end > 0 && isLater(messages[end - 1] as Message, message)) end -= 1;
	return [...messages.slice(0, end), message, ...messages.slice(end)];
}

function isLater(one: Message, other: Message): boolean {
	const difference = Date.parse(one.said_at) - Date.parse(other.said_at);
	return difference > 0 || (difference === 0 && one.position > other.position);
}
