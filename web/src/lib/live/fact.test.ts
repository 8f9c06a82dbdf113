import { describe, expect, it } from 'vitest';
import { joined as joinedTo, spoken, type Words } from './fact';

const joined = (text: string, words: Words) => joinedTo(spoken(text), words)?.text ?? null;
const words = (offset: number, text: string) => ({ thread_id: 't', turn_id: 'u', offset, text });

describe('words put in their place', () => {
	it('appends what comes next', () => {
		expect(joined('Hello', words(5, ' there'))).toBe('Hello there');
	});
	it('does not double what is known', () => {
		expect(joined('Hello there', words(5, ' there'))).toBe('Hello there');
	});
	it('keeps what overlaps once', () => {
		expect(joined('Hello th', words(5, ' there'))).toBe('Hello there');
	});
	it('counts characters as the engine does', () => {
		expect(joined('𝄞𝄞', words(2, '!'))).toBe('𝄞𝄞!');
		expect(joined('𝄞𝄞', words(1, '𝄞'))).toBe('𝄞𝄞');
	});
	it('keeps count', () => {
		expect(joinedTo(spoken('𝄞'), words(1, '𝄞a'))).toEqual(spoken('𝄞𝄞a'));
	});
	it('refuses a hole', () => {
		expect(joined('Hello', words(9, 'x'))).toBeNull();
	});
});
