import { describe, expect, it } from 'vitest';
import { toPlainText, toSentences } from './plain-text';

describe('a text that is read aloud', () => {
	it('has no marks of Markdown', () => {
		expect(toPlainText('## Plan\n\n- **First**, _read_ [the page](https://example.com/a_b)\n- `run` it')).toBe('Plan\nFirst, read the page\nrun it');
	});

	it('leaves out code, formulas and addresses', () => {
		expect(toPlainText('Do this:\n```sh\nrm -rf x\n```\nSee https://example.com/x')).toBe('Do this:\nCode is left out.\nSee a link');
		expect(toPlainText('So $$x^2$$ holds')).toBe('So A formula is left out. holds');
		expect(toPlainText('Begun:\n```\nnever ended')).toBe('Begun:\nCode is left out.');
	});

	it('keeps words with underscores and products', () => {
		expect(toPlainText('snake_case_name and 2 * 3 * 4')).toBe('snake_case_name and 2 * 3 * 4');
	});

	it('comes in pieces of whole sentences', () => {
		const sentence = 'This is a sentence of some length, which is read.';
		const pieces = toSentences(Array(12).fill(sentence).join(' '));
		expect(pieces.length).toBeGreaterThan(2);
		expect(pieces.every((piece) => piece.length <= 200 && piece.endsWith('.'))).toBe(true);
		expect(toSentences('a '.repeat(500)).every((piece) => piece.length <= 200)).toBe(true);
	});
});
