/** Builds the list of rows that the thread page shows. Pure, so that it can be tested. */
import { toIsoDay } from '$lib/format/days';
import type { Schema } from '$lib/api/client';
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
	const shown = new Set(history.map((row) => row.key));
	const rows = addPending(history, shown, pending);
	for (const message of outgoing) {
		const key = `msg-${message.letterId}`;
		if (!shown.has(key)) rows.push({ type: 'outgoing', key, outgoing: message });
	}
	return rows;
}

/** Each pending answer right after its question; at the end if the question is not shown. */
function addPending(history: Row[], shown: Set<string>, pending: PendingAnswer[]): Row[] {
	const rows = [...history];
	pending.forEach((answer, index) => {
		const key = answer.turn.answer_id || answer.turn.turn_id;
		if (shown.has(key)) return;
		const question = rows.findLastIndex((row) => row.key === answer.turn.message_id);
		rows.splice(question < 0 ? rows.length : question + 1, 0, { type: 'pending', key, answer, ahead: index });
	});
	return rows;
}

/** The rows with a card for each task, after the last message that was said before the task was proposed. */
export function withTasks(rows: Row[], tasks: Schema<'WorkerTaskOut'>[]): Row[] {
	const first = rows.findIndex((row) => row.type === 'message' || row.type === 'day');
	if (!tasks.length || first < 0) return rows;
	const placed = [...rows];
	for (const task of tasks) {
		const proposed = Date.parse(task.proposed_at);
		const after = placed.findLastIndex((row) => (row.type === 'message' && Date.parse(row.message.said_at) <= proposed) || (row.type === 'task' && Date.parse(row.task.proposed_at) <= proposed));
		if (after >= first) placed.splice(after + 1, 0, { type: 'task', key: `task-${task.task_id}`, task });
	}
	return placed;
}

/** The rows with a card after each message that seems to belong to a running task. */
export function withSuggestions(rows: Row[], suggestions: Schema<'RoutingSuggestionOut'>[]): Row[] {
	const placed = [...rows];
	for (const suggestion of suggestions) {
		const after = placed.findIndex((row) => row.key === suggestion.message_id);
		if (after >= 0) placed.splice(after + 1, 0, { type: 'suggestion', key: `route-${suggestion.message_id}`, suggestion });
	}
	return placed;
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
		// An answer of after midnight can stand before a question of before it: each day starts once.
		if (now > day) rows.push({ type: 'day', key: `day-${now}`, day: now });
		if (now > day) day = now;
		addMessage(rows, shown, message, day);
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

/** Insert a message by time, an answer right after its question, or replace the one with the same id. */
export function insertMessage(messages: Message[], message: Message): Message[] {
	const existing = messages.findIndex((one) => one.message_id === message.message_id);
	if (existing >= 0) return messages.with(existing, message);
	let end = messages.length;
	while (end > 0 && isLater(messages[end - 1] as Message, message)) end -= 1;
	return [...messages.slice(0, end), message, ...messages.slice(end)];
}

function isLater(one: Message, other: Message): boolean {
	const difference = orderTime(one) - orderTime(other);
	return difference > 0 || (difference === 0 && one.position > other.position);
}

/** An answer counts as said when its question was asked, so that it follows it. */
function orderTime(message: Message): number {
	return Date.parse(message.asked_at || message.said_at);
}
