/** Layout of the branch map: one row and one lane per branch, and the lines between them. */
import { currentLineage } from './versions';

/** What the map needs to know of a branch, of a conversation or of a world. */
export type MappedBranch = { branch: string; parent: string; at: number; standing: boolean };
export type BranchNode<Info extends MappedBranch = MappedBranch> = { info: Info; lane: number; row: number; hue: number };
export type BranchEdge = { branch: string; path: string; hue: number; current: boolean };
export type BranchLayout<Info extends MappedBranch> = { nodes: BranchNode<Info>[]; edges: BranchEdge[]; lanes: number };

export const LANE = 22;
export const ROW = 84;
const MARGIN = 14;
const HUES = 8;

export const x = (lane: number): number => MARGIN + lane * LANE;
export const y = (row: number): number => ROW / 2 + row * ROW;

/** Parents before children, each child below its parent; older forks first. */
export function layoutBranches<Info extends MappedBranch>(branches: Info[]): BranchLayout<Info> {
	const ids = new Set(branches.map((info) => info.branch));
	const byParent = Map.groupBy(branches, (info) => (ids.has(info.parent) ? info.parent : ''));
	const nodes: BranchNode<Info>[] = [];
	const walk = (parent: string, depth: number) => {
		const children = [...(byParent.get(parent) ?? [])].sort((a, b) => a.at - b.at);
		for (const info of children) {
			nodes.push({ info, lane: depth, row: nodes.length, hue: 1 + (nodes.length % HUES) });
			walk(info.branch, depth + 1);
		}
	};
	walk('', 0);
	return { nodes, edges: layoutEdges(nodes), lanes: Math.max(0, ...nodes.map((node) => node.lane)) + 1 };
}

/** Edges of the current lineage come last, so that they are drawn above the others. */
function layoutEdges(nodes: BranchNode[]): BranchEdge[] {
	const byId = new Map(nodes.map((node) => [node.info.branch, node]));
	const lineage = currentLineage(nodes.map((node) => node.info));
	const edges = nodes.map((node) => {
		const parent = byId.get(node.info.parent);
		const current = lineage.has(node.info.branch);
		return { branch: node.info.branch, path: edgePath(node, parent), hue: node.hue, current };
	});
	return edges.sort((a, b) => Number(a.current) - Number(b.current));
}

/** From the parent's lane down and over to the node's own lane. */
function edgePath(node: BranchNode, parent: BranchNode | undefined): string {
	const [endX, endY] = [x(node.lane), y(node.row)];
	if (!parent) return `M${endX} ${endY - ROW / 2 + 6}V${endY}`;
	const [fromX, bend] = [x(parent.lane), endY - LANE];
	return `M${fromX} ${y(parent.row)}V${bend - LANE / 2}C${fromX} ${bend + LANE / 2} ${endX} ${bend - LANE / 2} ${endX} ${endY}`;
}
