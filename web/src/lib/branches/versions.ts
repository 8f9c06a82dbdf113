/** Versions of a message: the branches that continue after it, and which of them is current. */
import type { BranchInfo } from '$lib/thread/types';

export type Versions = { branches: string[]; current: number };

/** The branches that continue after a message (`""`: from the very beginning), or null where there is only one. */
export function versionsAfter(all: BranchInfo[], messageId: string): Versions | null {
	const forks = all.filter((info) => info.parent && info.left_after === messageId);
	const parent = all.find((info) => info.branch === forks[0]?.parent);
	if (!parent) return null;
	const branches = [parent.branch, ...forks.map((info) => info.branch)];
	const lineage = currentLineage(all);
	const current = branches.findLastIndex((branch) => lineage.has(branch));
	return { branches: branches.map((branch) => branchTip(all, branch, lineage)), current: Math.max(0, current) };
}

/** The current branch and all its ancestors. */
export function currentLineage(all: { branch: string; parent: string; standing: boolean }[]): Set<string> {
	const byId = new Map(all.map((info) => [info.branch, info]));
	const lineage = new Set<string>();
	let at = all.find((info) => info.standing);
	while (at && !lineage.has(at.branch)) {
		lineage.add(at.branch);
		at = byId.get(at.parent);
	}
	return lineage;
}

/** The branch to switch to for a version: the current branch, if it descends from that version. */
function branchTip(all: BranchInfo[], branch: string, lineage: Set<string>): string {
	const current = all.find((info) => info.standing)?.branch ?? branch;
	const forks = all.filter((info) => info.parent === branch && lineage.has(info.branch));
	return lineage.has(branch) && !forks.length ? current : branch;
}
