import { describe, expect, it } from 'vitest';
import type { BranchInfo } from '$lib/thread/types';
import { layoutBranches } from './branch-map';
import { currentLineage } from './versions';

const info = (branch: string, parent: string, at: number, standing = false): BranchInfo => ({
	branch,
	parent,
	at,
	standing,
	left_after: '',
	newest: null,
	own: 0
});
const BRANCHES = [info('t', '', 0), info('late', 't', 9), info('early', 't', 3), info('deep', 'early', 5, true)];

describe('the branch map', () => {
	it('puts each branch below its parent, older forks first', () => {
		const nodes = layoutBranches(BRANCHES).nodes.map((node) => [node.info.branch, node.lane]);
		expect(nodes).toEqual([
			['t', 0],
			['early', 1],
			['deep', 2],
			['late', 1]
		]);
	});

	it('draws the current lineage last, above the others', () => {
		const { edges } = layoutBranches(BRANCHES);
		expect(edges.map((edge) => edge.current)).toEqual([false, true, true, true]);
		expect([...currentLineage(BRANCHES)].sort()).toEqual(['deep', 'early', 't']);
	});

	it('is empty for no branches, and shows a branch whose parent is unknown', () => {
		expect(layoutBranches([]).nodes).toEqual([]);
		expect(layoutBranches([info('alone', 'gone', 4)]).nodes).toHaveLength(1);
	});
});
