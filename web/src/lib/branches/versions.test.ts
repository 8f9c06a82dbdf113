import { expect, it } from 'vitest';
import type { BranchInfo } from '$lib/thread/types';
import { versionsAfter } from './versions';

const info = (branch: string, parent: string, left_after: string, standing = false) =>
	({ branch, parent, left_after, standing }) as BranchInfo;

it('finds no versions where nothing forks', () => {
	expect(versionsAfter([info('trunk', '', '', true)], 'q')).toBeNull();
});

it('counts the trunk and each fork, and knows the current branch', () => {
	const all = [info('trunk', '', ''), info('one', 'trunk', 'q'), info('two', 'trunk', 'q', true)];
	expect(versionsAfter(all, 'q')).toEqual({ branches: ['trunk', 'one', 'two'], current: 2 });
});

it('takes the trunk as the current version when it is the current branch', () => {
	const all = [info('trunk', '', '', true), info('one', 'trunk', 'q')];
	expect(versionsAfter(all, 'q')).toEqual({ branches: ['trunk', 'one'], current: 0 });
});

it('counts a branch of a branch as part of its parent version', () => {
	const all = [info('trunk', '', ''), info('one', 'trunk', 'q'), info('deep', 'one', 'later', true)];
	expect(versionsAfter(all, 'q')?.current).toBe(1);
});
