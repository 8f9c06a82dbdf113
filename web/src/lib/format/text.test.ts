import { expect, it } from 'vitest';
import { stripMarkdown } from './text';

it('removes Markdown marks and keeps the words', () => {
	expect(stripMarkdown('## Title\n\n- **one**\n- [two](https://example.org)\n\n> three')).toBe('Title one two three');
});

it('keeps code', () => {
	expect(stripMarkdown('```python\nx = a_b * 2\n```')).toBe('x = a_b * 2');
});

it('makes one line of a table', () => {
	expect(stripMarkdown('| a | b |\n|---|---|\n| 1 | 2 |')).not.toContain('---');
});
