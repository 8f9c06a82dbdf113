import { expect, it } from 'vitest';
import type { Line } from '$lib/thread/types';
import { siblingsAfter } from './versions';

const line = (branch: string, parent: string, left_after: string, standing = false) =>
	({ branch, parent, left_after, standing }) as Line;

it('has no siblings where nothing parts', () => {
	expect(siblingsAfter([line('trunk', '', '', true)], 'q')).toBeNull();
});

it('counts the trunk and each fork, and knows where one stands', () => {
	const lines = [line('trunk', '', ''), line('one', 'trunk', 'q'), line('two', 'trunk', 'q', true)];
	expect(siblingsAfter(lines, 'q')).toEqual({ branches: ['trunk', 'one', 'two'], now: 2 });
});

it('sees the trunk as the one at hand when one stands there', () => {
	const lines = [line('trunk', '', '', true), line('one', 'trunk', 'q')];
	expect(siblingsAfter(lines, 'q')).toEqual({ branches: ['trunk', 'one'], now: 0 });
});

it('sees a branch of a branch as part of its line', () => {
	const lines = [line('trunk', '', ''), line('one', 'trunk', 'q'), line('deep', 'one', 'later', true)];
	expect(siblingsAfter(lines, 'q')?.now).toBe(1);
});
