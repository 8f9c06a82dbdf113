import { expect, it } from 'vitest';
import { plainly } from './text';

it('leaves the words of a text and takes its marks away', () => {
	expect(plainly('## Title\n\n- **one**\n- [two](https://example.org)\n\n> three')).toBe('Title one two three');
});

it('keeps what a program says', () => {
	expect(plainly('```python\nx = a_b * 2\n```')).toBe('x = a_b * 2');
});

it('makes one line of a table', () => {
	expect(plainly('| a | b |\n|---|---|\n| 1 | 2 |')).not.toContain('---');
});
