/** Branches as a railway map: a row for each, a lane for each, and tracks between them. */
import type { Shape } from '$lib/api/client';
import { wayTo } from './versions';

export type Line = Shape<'LineOut'>;
export type Stop = { line: Line; lane: number; row: number; who: number };
export type Track = { branch: string; path: string; who: number; standing: boolean };
export type RailMap = { stops: Stop[]; tracks: Track[]; lanes: number };

export const LANE = 22;
export const ROW = 84;
const EDGE = 14;
const HUES = 8;

export const x = (lane: number): number => EDGE + lane * LANE;
export const y = (row: number): number => ROW / 2 + row * ROW;

/** Parents before children, each child below its parent; older junctions first. */
export function railMap(lines: Line[]): RailMap {
	const names = new Set(lines.map((line) => line.branch));
	const below = Map.groupBy(lines, (line) => (names.has(line.parent) ? line.parent : ''));
	const stops: Stop[] = [];
	const walk = (parent: string, depth: number) => {
		const children = [...(below.get(parent) ?? [])].sort((a, b) => a.at - b.at);
		for (const line of children) {
			stops.push({ line, lane: depth, row: stops.length, who: 1 + (stops.length % HUES) });
			walk(line.branch, depth + 1);
		}
	};
	walk('', 0);
	return { stops, tracks: tracks(stops), lanes: Math.max(0, ...stops.map((stop) => stop.lane)) + 1 };
}

function tracks(stops: Stop[]): Track[] {
	const by = new Map(stops.map((stop) => [stop.line.branch, stop]));
	const way = wayTo(stops.map((stop) => stop.line));
	const found = stops.map((stop) => {
		const parent = by.get(stop.line.parent);
		const standing = way.has(stop.line.branch);
		return { branch: stop.line.branch, path: path(stop, parent), who: stop.who, standing };
	});
	return found.sort((a, b) => Number(a.standing) - Number(b.standing));
}

/** From the parent's lane down and over to its own. */
function path(stop: Stop, parent: Stop | undefined): string {
	const [endX, endY] = [x(stop.lane), y(stop.row)];
	if (!parent) return `M${endX} ${endY - ROW / 2 + 6}V${endY}`;
	const [fromX, bend] = [x(parent.lane), endY - LANE];
	return `M${fromX} ${y(parent.row)}V${bend - LANE / 2}C${fromX} ${bend + LANE / 2} ${endX} ${bend - LANE / 2} ${endX} ${endY}`;
}
