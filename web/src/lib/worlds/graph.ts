/** The picture of relationships: people on a circle, a curved arrow from each to each other. */
import type { Edge } from './types';

export type GraphNode = { who: string; name: string; x: number; y: number; hue: number };
export type GraphArrow = { key: string; source: string; target: string; path: string; width: number; colour: string; edge: Edge; labelX: number; labelY: number };

export const SIZE = 320;
const CENTRE = SIZE / 2;
const RADIUS = 108;
export const NODE_RADIUS = 30;
const BEND = 26; // how far an arrow bends away from the straight line, so that both directions are seen
const WIDTH_MIN = 1.5;
const WIDTH_MAX = 9;

/** People on a circle, the first on top; two stand beside each other. */
export function placeNodes(people: { who: string; name: string }[], hue: (who: string) => number): GraphNode[] {
	const start = people.length === 2 ? Math.PI : -Math.PI / 2;
	return people.map((one, index) => {
		const angle = start + (index * 2 * Math.PI) / Math.max(1, people.length);
		return { ...one, hue: hue(one.who), x: CENTRE + RADIUS * Math.cos(angle), y: CENTRE + RADIUS * Math.sin(angle) };
	});
}

/** How high the picture is: with three people, nobody stands at the bottom of the circle. */
export function heightOf(nodes: GraphNode[]): number {
	const lowest = Math.max(CENTRE, ...nodes.map((one) => one.y));
	return Math.min(SIZE, lowest + SIZE - CENTRE - RADIUS);
}

/** An arrow for each edge between those who are placed. Width is affinity, colour is trust. */
export function placeArrows(nodes: GraphNode[], edges: Record<string, Edge>): GraphArrow[] {
	return nodes.flatMap((from) =>
		nodes
			.filter((to) => to.who !== from.who)
			.map((to) => arrow(from, to, edges[`${from.who}>${to.who}`] ?? { affinity: 0, trust: 0, summary: '', facts: [] }))
	);
}

/** From hair-thin for nothing to broad for much; dislike is as broad as liking, and drawn dashed. */
export function arrowWidth(affinity: number): number {
	return WIDTH_MIN + strength(affinity) * (WIDTH_MAX - WIDTH_MIN);
}

/** Green for trust, red for mistrust, grey for neither. */
export function arrowColour(trust: number): string {
	if (trust === 0) return 'var(--edge)';
	const share = Math.round(25 + strength(trust) * 75);
	return `color-mix(in oklab, ${trust > 0 ? 'var(--done)' : 'var(--trouble)'} ${share}%, var(--edge))`;
}

/** From 0 to 1. The root: the first steps of a relationship are the ones to see. */
function strength(points: number): number {
	return Math.sqrt(Math.min(100, Math.abs(points)) / 100);
}

function arrow(from: GraphNode, to: GraphNode, edge: Edge): GraphArrow {
	const [dx, dy] = [to.x - from.x, to.y - from.y];
	const length = Math.hypot(dx, dy) || 1;
	const [ux, uy] = [dx / length, dy / length];
	const [nx, ny] = [-uy, ux];
	const gap = NODE_RADIUS + 6;
	const start = { x: from.x + ux * gap + nx * 7, y: from.y + uy * gap + ny * 7 };
	const end = { x: to.x - ux * (gap + 5) + nx * 7, y: to.y - uy * (gap + 5) + ny * 7 };
	const middle = { x: (from.x + to.x) / 2 + nx * BEND, y: (from.y + to.y) / 2 + ny * BEND };
	return {
		key: `${from.who}>${to.who}`,
		source: from.who,
		target: to.who,
		path: `M${start.x.toFixed(1)} ${start.y.toFixed(1)} Q${middle.x.toFixed(1)} ${middle.y.toFixed(1)} ${end.x.toFixed(1)} ${end.y.toFixed(1)}`,
		width: arrowWidth(edge.affinity),
		colour: arrowColour(edge.trust),
		edge,
		labelX: (from.x + to.x) / 2 + nx * (BEND - 4),
		labelY: (from.y + to.y) / 2 + ny * (BEND - 4)
	};
}
