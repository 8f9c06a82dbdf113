import { describe, expect, it } from 'vitest';
import { blockBoundaries, splitBlocks, StreamingBlocks, unfinishedCode } from './blocks';
import { TextCache } from './text-cache';

const LONG = '# A\n\nOne.\n\n```py\na = 1\n\nb = 2\n```\n\n- x\n\n- y\n\nTwo.\n\nThree';

describe('splitting a text', () => {
	it('splits after each complete paragraph', () => {
		expect(splitBlocks('One.\n\nTwo.\n\nThr')).toEqual(['One.\n\n', 'Two.\n\n', 'Thr']);
	});
	it('does not split inside code', () => {
		expect(blockBoundaries('One.\n\n```py\na = 1\n\nb = 2')).toEqual(['One.\n\n'.length]);
	});
	it('does not split inside a list', () => {
		expect(blockBoundaries('- one\n\n- two')).toEqual([]);
	});
	it('does not split a text with link definitions', () => {
		expect(splitBlocks('See [a].\n\n[a]: https://example.org\n\nEnd.')).toHaveLength(1);
	});
	it('gives nothing for an empty text', () => {
		expect(blockBoundaries('')).toEqual([]);
		expect(splitBlocks('').join('')).toBe('');
	});
});

describe('a streaming text', () => {
	it('ends with the same blocks as a complete text', () => {
		const streaming = new StreamingBlocks();
		let blocks: string[] = [];
		for (let end = 1; end <= LONG.length; end += 1) {
			const before = blocks;
			blocks = streaming.update(LONG.slice(0, end));
			expect(blocks.join('')).toBe(LONG.slice(0, end));
			expect(blocks.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
		}
		expect(blocks).toEqual(splitBlocks(LONG));
	});
	it('starts over for another text', () => {
		const streaming = new StreamingBlocks();
		streaming.update('One.\n\nTwo.\n\nThree');
		expect(streaming.update('Other')).toEqual(['Other']);
	});
});

it('keeps the content of <details> in one block', () => {
	const folded = '<details>\n<summary>More</summary>\n\nHidden.\n\n</details>\n\n';
	expect(splitBlocks(`Before.\n\n${folded}After.`)).toEqual(['Before.\n\n', folded, 'After.']);
});

describe('unfinished code', () => {
	it('is found with its language', () => {
		expect(unfinishedCode('```py\na = 1\n')).toEqual({ language: 'py', code: 'a = 1\n' });
	});
	it('is null once it ended', () => {
		expect(unfinishedCode('```py\na = 1\n```')).toBeNull();
		expect(unfinishedCode('Words')).toBeNull();
	});
});

describe('the text cache', () => {
	it('renders a text once', () => {
		const cache = new TextCache<string>(100);
		expect(cache.get('a', () => 'A')).toBe('A');
		expect(cache.get('a', () => 'B')).toBe('A');
	});
	it('evicts the oldest entry when it is full', () => {
		const cache = new TextCache<string>(6);
		for (const letter of 'abcd') cache.get(letter, () => letter);
		expect(cache.get('d', () => 'new')).toBe('d');
		expect(cache.get('a', () => 'new')).toBe('new');
	});
});
