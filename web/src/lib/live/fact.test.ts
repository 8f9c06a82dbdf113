import { describe, expect, it } from 'vitest';
import { applyDelta as applyDeltaTo, streamedText, type TextDelta } from './fact';

const applyDelta = (text: string, part: TextDelta) => applyDeltaTo(streamedText(text), part)?.text ?? null;
const delta = (offset: number, text: string) => ({ thread_id: 't', turn_id: 'u', offset, text });

describe('applying a delta', () => {
	it('appends the next piece', () => {
		expect(applyDelta('Hello', delta(5, ' there'))).toBe('Hello there');
	});
	it('does not duplicate known text', () => {
		expect(applyDelta('Hello there', delta(5, ' there'))).toBe('Hello there');
	});
	it('keeps an overlap once', () => {
		expect(applyDelta('Hello th', delta(5, ' there'))).toBe('Hello there');
	});
	it('counts characters as the server does', () => {
		expect(applyDelta('𝄞𝄞', delta(2, '!'))).toBe('𝄞𝄞!');
		expect(applyDelta('𝄞𝄞', delta(1, '𝄞'))).toBe('𝄞𝄞');
	});
	it('keeps the length up to date', () => {
		expect(applyDeltaTo(streamedText('𝄞'), delta(1, '𝄞a'))).toEqual(streamedText('𝄞𝄞a'));
	});
	it('rejects a gap', () => {
		expect(applyDelta('Hello', delta(9, 'x'))).toBeNull();
	});
});
