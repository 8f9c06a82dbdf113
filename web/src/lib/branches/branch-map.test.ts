import { describe, expect, it } from 'vitest';
import { wayTo } from './versions';
import { railMap, type Line } from './branch-map';

const line = (branch: string, parent: string, at: number, standing = false): Line => ({
	branch,
	parent,
	at,
	standing,
	left_after: '',
	newest: null,
	own: 0
});
const LINES = [line('t', '', 0), line('late', 't', 9), line('early', 't', 3), line('deep', 'early', 5, true)];

describe('the map of branches', () => {
	it('puts each branch below its parent, older junctions first', () => {
		const stops = railMap(LINES).stops.map((stop) => [stop.line.branch, stop.lane]);
		expect(stops).toEqual([
			['t', 0],
			['early', 1],
			['deep', 2],
			['late', 1]
		]);
	});

	it('draws the way to where one stands last, above the others', () => {
		const { tracks } = railMap(LINES);
		expect(tracks.map((track) => track.standing)).toEqual([false, true, true, true]);
		expect([...wayTo(LINES)].sort()).toEqual(['deep', 'early', 't']);
	});

	it('is empty for no branches, and shows one whose parent is unknown', () => {
		expect(railMap([]).stops).toEqual([]);
		expect(railMap([line('alone', 'gone', 4)]).stops).toHaveLength(1);
	});
});
