/** Where a conversation parts: which branches go on after a message, and which of them is the one at hand. */
import type { Line } from '$lib/thread/types';

export type Siblings = { branches: string[]; now: number };

/** The ways on after a message (`""`: from the very beginning), or null where there is only one. */
export function siblingsAfter(lines: Line[], messageId: string): Siblings | null {
	const forks = lines.filter((line) => line.parent && line.left_after === messageId);
	const parent = lines.find((line) => line.branch === forks[0]?.parent);
	if (!parent) return null;
	const branches = [parent.branch, ...forks.map((line) => line.branch)];
	const lineage = wayTo(lines);
	const now = branches.findLastIndex((branch) => lineage.has(branch));
	return { branches: branches.map((branch) => tipOf(lines, branch, lineage)), now: Math.max(0, now) };
}

/** The branches that lead to the one that is stood on, itself among them. */
export function wayTo(lines: Line[]): Set<string> {
	const by = new Map(lines.map((line) => [line.branch, line]));
	const way = new Set<string>();
	let at = lines.find((line) => line.standing);
	while (at && !way.has(at.branch)) {
		way.add(at.branch);
		at = by.get(at.parent);
	}
	return way;
}

/** Where to stand to see a way: where one stands already, if that lies on it. */
function tipOf(lines: Line[], branch: string, lineage: Set<string>): string {
	const standing = lines.find((line) => line.standing)?.branch ?? branch;
	const forks = lines.filter((line) => line.parent === branch && lineage.has(line.branch));
	return lineage.has(branch) && !forks.length ? standing : branch;
}
