import { describe, expect, it } from 'vitest';
import { blocksOf, cutsOf, Growing, openCode } from './blocks';
import { Kept } from './text-cache';

const LONG = '# A\n\nOne.\n\n```py\na = 1\n\nb = 2\n```\n\n- x\n\n- y\n\nTwo.\n\nThree';

describe('a text in blocks', () => {
	it('is cut after each whole paragraph', () => {
		expect(blocksOf('One.\n\nTwo.\n\nThr')).toEqual(['One.\n\n', 'Two.\n\n', 'Thr']);
	});
	it('is not cut inside code', () => {
		expect(cutsOf('One.\n\n```py\na = 1\n\nb = 2')).toEqual(['One.\n\n'.length]);
	});
	it('is not cut inside a list', () => {
		expect(cutsOf('- one\n\n- two')).toEqual([]);
	});
	it('is not cut where one block names what another uses', () => {
		expect(blocksOf('See [a].\n\n[a]: https://example.org\n\nEnd.')).toHaveLength(1);
	});
	it('is nothing if it is empty', () => {
		expect(cutsOf('')).toEqual([]);
		expect(blocksOf('').join('')).toBe('');
	});
});

describe('a text that grows', () => {
	it('has the same blocks at its end as one that came at once', () => {
		const growing = new Growing();
		let blocks: string[] = [];
		for (let end = 1; end <= LONG.length; end += 1) {
			const before = blocks;
			blocks = growing.blocks(LONG.slice(0, end));
			expect(blocks.join('')).toBe(LONG.slice(0, end));
			expect(blocks.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
		}
		expect(blocks).toEqual(blocksOf(LONG));
	});
	it('begins anew when it is another text', () => {
		const growing = new Growing();
		growing.blocks('One.\n\nTwo.\n\nThree');
		expect(growing.blocks('Other')).toEqual(['Other']);
	});
});

describe('code that has begun', () => {
	it('is known with its language', () => {
		expect(openCode('```py\na = 1\n')).toEqual({ language: 'py', code: 'a = 1\n' });
	});
	it('is no longer open when it ended', () => {
		expect(openCode('```py\na = 1\n```')).toBeNull();
		expect(openCode('Words')).toBeNull();
	});
});

describe('what is kept', () => {
	it('is made once', () => {
		const kept = new Kept<string>(100);
		expect(kept.of('a', () => 'A')).toBe('A');
		expect(kept.of('a', () => 'B')).toBe('A');
	});
	it('goes when there is too much of it, the oldest first', () => {
		const kept = new Kept<string>(6);
		for (const letter of 'abcd') kept.of(letter, () => letter);
		expect(kept.of('d', () => 'new')).toBe('d');
		expect(kept.of('a', () => 'new')).toBe('new');
	});
});
