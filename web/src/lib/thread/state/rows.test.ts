import { describe, expect, it } from 'vitest';
import { foldsBefore, pastRows, rowsOf as allRows, withMessage } from './rows';
import type { Band, Coming, Fold, Letter, Message } from '../types';

function message(id: string, at: string, position = 1): Message {
	return { message_id: id, said_at: at, position, role: 'user', text: id } as Message;
}
function band(key: string, first: string, until: string, shown = true): Band {
	return { key, first, until, shown, messages: 3, tier: 'day' } as Band;
}
const rowsOf = (folds: Fold[], messages: Message[], coming: Coming[], letters: Letter[]) =>
	allRows(pastRows(folds, messages), coming, letters);
const coming = (turn_id: string, answer_id: string) => ({ turn: { turn_id, answer_id }, text: '' }) as Coming;

describe('rows', () => {
	it('begin each day with its date', () => {
		const rows = rowsOf([], [message('a', '2026-11-14T12:00'), message('b', '2026-11-15T12:00')], [], []);
		expect(rows.map((row) => row.key)).toEqual(['day-2026-11-14', 'a', 'day-2026-11-15', 'b']);
	});
	it('show an answer once, whether it comes or has come', () => {
		const rows = rowsOf([], [message('ans', '2026-11-15T12:00')], [coming('t1', 'ans'), coming('t2', '')], []);
		expect(rows.map((row) => row.key)).toEqual(['day-2026-11-15', 'ans', 't2']);
	});
	it('show a letter only until the engine has it', () => {
		const letter = { letterId: 'x', text: 'x', attachments: [], writtenAt: '', editing: '' };
		const before = rowsOf([], [], [], [letter]);
		const after = rowsOf([], [message('msg-x', '2026-11-15T12:00')], [], [letter]);
		expect(before.map((row) => row.sort)).toEqual(['letter']);
		expect(after.map((row) => row.sort)).toEqual(['day', 'message']);
	});
	it('show what an opened window holds below it', () => {
		const open = { band: band('d', '2026-11-01', '2026-11-02'), open: true, below: [], messages: [message('m', '2026-11-01T12:00')] };
		expect(rowsOf([open], [], [], []).map((row) => row.key)).toEqual(['fold-d', 'm']);
		expect(rowsOf([{ ...open, open: false }], [], [], []).map((row) => row.key)).toEqual(['fold-d']);
	});
});

it('folds only what ended before the first message in full', () => {
	const bands = [
		band('a', '2026-11-01', '2026-11-02'),
		band('b', '2026-11-10', '2026-11-11'),
		band('c', '2026-11-02', '2026-11-03', false)
	];
	expect(foldsBefore(bands, message('m', '2026-11-10T08:00')).map((fold) => fold.band.key)).toEqual(['a']);
});

describe('a message finds its place', () => {
	const old = [message('a', '2026-11-15T10:00', 1), message('c', '2026-11-15T12:00', 3)];
	it('by its time', () => {
		expect(withMessage(old, message('b', '2026-11-15T11:00', 9)).map((one) => one.message_id)).toEqual(['a', 'b', 'c']);
	});
	it('instead of itself', () => {
		expect(withMessage(old, { ...message('a', '2026-11-15T10:00'), text: 'new' })[0]?.text).toBe('new');
	});
});
