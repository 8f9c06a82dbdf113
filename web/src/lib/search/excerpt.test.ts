import { describe, expect, it } from 'vitest';
import { excerpt, wordsOf } from './excerpt';

const text = (parts: { text: string }[]) => parts.map((part) => part.text).join('');

describe('an excerpt', () => {
	it('marks the words that were searched for, whatever their case', () => {
		const parts = excerpt('The Garden needs water.', 'garden WATER');
		expect(parts.filter((part) => part.hit).map((part) => part.text)).toEqual(['Garden', 'water']);
		expect(text(parts)).toBe('The Garden needs water.');
	});

	it('begins near the first word that was found', () => {
		const parts = excerpt(`${'before '.repeat(100)}needle after`, 'needle', 60);
		expect(parts.some((part) => part.hit && part.text === 'needle')).toBe(true);
		expect(text(parts).length).toBeLessThan(80);
	});

	it('marks nothing when only the meaning fits', () => {
		expect(excerpt('A short text.', 'elsewhere').every((part) => !part.hit)).toBe(true);
	});

	it('does not mark single letters', () => {
		expect(wordsOf('a B cd')).toEqual(['cd']);
	});
});
