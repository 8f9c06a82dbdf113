import { describe, expect, it } from 'vitest';
import { findRow, summarizeCall, transcriptRows, type Entry, type TranscriptPart } from './transcript';

const entry = (kind: string, text: string, more: Partial<Entry> = {}): Entry => ({ kind, text, name: '', ref: '', ...more });
const part = (position: number, attempt: number, ...entries: Entry[]): TranscriptPart => ({ position, attempt, at: '2026-11-18T12:00:00Z', entries });

describe('transcriptRows', () => {
	it('folds a tool call and its result into one row, also over several parts', () => {
		const rows = transcriptRows([
			part(1, 1, entry('text', 'I look.'), entry('tool_call', '{"command":"ls"}', { name: 'Bash', ref: 'c1' })),
			part(2, 1, entry('tool_result', 'a.py', { ref: 'c1' }))
		]);
		expect(rows.map((row) => row.type)).toEqual(['attempt', 'text', 'tool']);
		expect(rows[2]).toMatchObject({ name: 'Bash', result: 'a.py' });
	});

	it('joins output, and begins anew with each attempt', () => {
		const rows = transcriptRows([part(1, 1, entry('output', 'a')), part(2, 1, entry('output', 'b')), part(3, 2, entry('output', 'c'))]);
		expect(rows.map((row) => ('text' in row ? row.text : row.type))).toEqual(['attempt', 'ab', 'attempt', 'c']);
	});

	it('finds the row of a place, also if it is folded into an earlier one', () => {
		const rows = transcriptRows([
			part(1, 1, entry('output', 'disk ok\n')),
			part(2, 1, entry('output', 'Disk full\n')),
			part(3, 1, entry('tool_call', '{}', { name: 'Bash', ref: 'c1' }), entry('text', 'Disk full, I say.')),
			part(4, 1, entry('tool_result', 'no space, disk full', { ref: 'c1' }), entry('text', 'disk full at last'))
		]);
		expect(findRow(rows, { at: 2, find: 'FULL disk' })).toEqual({ key: '1.0', text: 'full' });
		expect(findRow(rows, { at: 3, find: 'space' })).toEqual({ key: '3.0', text: 'space' });
		expect(findRow(rows, { at: 4, find: 'nothing' })).toBeNull();
	});

	it('says what a call is about', () => {
		expect(summarizeCall('{"command":"npm test\\nls","timeout":3}')).toBe('npm test');
		expect(summarizeCall('plain')).toBe('plain');
	});
});
