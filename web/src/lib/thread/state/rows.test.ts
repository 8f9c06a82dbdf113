import { describe, expect, it } from 'vitest';
import { allRows as joinRows, collapsedPeriods, historyRows, insertMessage, withTasks } from './rows';
import type { Band, PendingAnswer, Period, OutgoingMessage, Message } from '../types';

function message(id: string, at: string, position = 1): Message {
	return { message_id: id, said_at: at, position, role: 'user', text: id } as Message;
}
function band(key: string, first: string, until: string, shown = true): Band {
	return { key, first, until, shown, messages: 3, tier: 'day' } as Band;
}
const allRows = (periods: Period[], messages: Message[], pending: PendingAnswer[], outgoing: OutgoingMessage[]) =>
	joinRows(historyRows(periods, messages), pending, outgoing);
const pending = (turn_id: string, answer_id: string) => ({ turn: { turn_id, answer_id }, text: '' }) as PendingAnswer;

describe('rows', () => {
	it('start each day with its date', () => {
		const rows = allRows([], [message('a', '2026-11-14T12:00'), message('b', '2026-11-15T12:00')], [], []);
		expect(rows.map((row) => row.key)).toEqual(['day-2026-11-14', 'a', 'day-2026-11-15', 'b']);
	});
	it('have a card for each task, after what was said before it was proposed', () => {
		const said = historyRows([], [message('a', '2026-11-15T12:00:00Z'), message('b', '2026-11-15T12:10:00Z')]);
		const task = (task_id: string, proposed_at: string) => ({ task_id, proposed_at }) as Parameters<typeof withTasks>[1][number];
		const rows = withTasks(said, [task('old', '2026-11-14T12:00:00Z'), task('t1', '2026-11-15T12:05:00Z'), task('t2', '2026-11-15T12:20:00Z')]);
		expect(rows.map((row) => row.key)).toEqual(['day-2026-11-15', 'a', 'task-t1', 'b', 'task-t2']);
	});
	it('show an answer once, whether it is pending or finished', () => {
		const rows = allRows([], [message('ans', '2026-11-15T12:00')], [pending('t1', 'ans'), pending('t2', '')], []);
		expect(rows.map((row) => row.key)).toEqual(['day-2026-11-15', 'ans', 't2']);
	});
	it('show a pending answer right after its question, whatever was sent meanwhile', () => {
		const answer = (turn_id: string, message_id: string) => ({ turn: { turn_id, answer_id: '', message_id }, text: '' }) as PendingAnswer;
		const asked = [message('q1', '2026-11-15T12:00'), message('q2', '2026-11-15T12:01')];
		const rows = allRows([], asked, [answer('t1', 'q1'), answer('t2', 'q2')], []);
		expect(rows.map((row) => row.key)).toEqual(['day-2026-11-15', 'q1', 't1', 'q2', 't2']);
	});
	it('start a day once, though an answer of after midnight stands before a question of before it', () => {
		const said = [message('q1', '2026-11-15T23:58'), message('a1', '2026-11-16T00:01'), message('q2', '2026-11-15T23:59')];
		const rows = allRows([], said, [], []);
		expect(rows.map((row) => row.key)).toEqual(['day-2026-11-15', 'q1', 'day-2026-11-16', 'a1', 'q2']);
	});
	it('show an outgoing message only until the server has it', () => {
		const outgoing = { threadId: 'home', letterId: 'x', text: 'x', attachments: [], writtenAt: '', editing: '' };
		const before = allRows([], [], [], [outgoing]);
		const after = allRows([], [message('msg-x', '2026-11-15T12:00')], [], [outgoing]);
		expect(before.map((row) => row.type)).toEqual(['outgoing']);
		expect(after.map((row) => row.type)).toEqual(['day', 'message']);
	});
	it('show the contents of an expanded period below it', () => {
		const open = { band: band('d', '2026-11-01', '2026-11-02'), open: true, below: [], messages: [message('m', '2026-11-01T12:00')] };
		expect(allRows([open], [], [], []).map((row) => row.key)).toEqual(['period-d', 'm']);
		expect(allRows([{ ...open, open: false }], [], [], []).map((row) => row.key)).toEqual(['period-d']);
	});
});

it('collapses only periods that ended before the first message shown in full', () => {
	const bands = [
		band('a', '2026-11-01', '2026-11-02'),
		band('b', '2026-11-10', '2026-11-11'),
		band('c', '2026-11-02', '2026-11-03', false)
	];
	expect(collapsedPeriods(bands, message('m', '2026-11-10T08:00')).map((period) => period.band.key)).toEqual(['a']);
});

describe('inserting a message', () => {
	const old = [message('a', '2026-11-15T10:00', 1), message('c', '2026-11-15T12:00', 3)];
	it('keeps messages in order of time', () => {
		expect(insertMessage(old, message('b', '2026-11-15T11:00', 9)).map((one) => one.message_id)).toEqual(['a', 'b', 'c']);
	});
	it('puts an answer after its question', () => {
		const answer = { ...message('b', '2026-11-15T13:00', 9), asked_at: '2026-11-15T10:00' };
		expect(insertMessage(old, answer).map((one) => one.message_id)).toEqual(['a', 'b', 'c']);
	});
	it('replaces the message with the same id', () => {
		expect(insertMessage(old, { ...message('a', '2026-11-15T10:00'), text: 'new' })[0]?.text).toBe('new');
	});
});
