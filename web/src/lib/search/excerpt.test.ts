import { describe, expect, it } from 'vitest';
import { excerpt, queryTerms } from './excerpt';

const text = (parts: { text: string }[]) => parts.map((part) => part.text).join('');

describe('an excerpt', () => {
	it('marks the query terms, whatever their case', () => {
		const parts = excerpt('The Garden needs water.', 'garden WATER');
		expect(parts.filter((part) => part.isMatch).map((part) => part.text)).toEqual(['Garden', 'water']);
		expect(text(parts)).toBe('The Garden needs water.');
	});

	it('starts near the first match', () => {
		const parts = excerpt(`${'before '.repeat(100)}needle after`, 'needle', 60);
		expect(parts.some((part) => part.isMatch && part.text === 'needle')).toBe(true);
		expect(text(parts).length).toBeLessThan(80);
	});

	it('marks nothing when only the meaning matches', () => {
		expect(excerpt('A short text.', 'elsewhere').every((part) => !part.isMatch)).toBe(true);
	});

	it('does not mark single letters', () => {
		expect(queryTerms('a B cd')).toEqual(['cd']);
	});
});
