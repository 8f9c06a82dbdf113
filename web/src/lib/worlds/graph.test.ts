import { expect, test } from 'vitest';
import { arrowColour, arrowWidth, heightOf, NODE_RADIUS, placeArrows, placeNodes, SIZE } from './graph';

const people = [
	{ who: 'you', name: 'Robin' },
	{ who: 'a', name: 'Ada' },
	{ who: 'b', name: 'Ben' }
];

test('three people have six arrows, each with its own path', () => {
	const arrows = placeArrows(placeNodes(people, () => 1), {});
	expect(arrows.map((one) => one.key)).toEqual(['you>a', 'you>b', 'a>you', 'a>b', 'b>you', 'b>a']);
	expect(new Set(arrows.map((one) => one.path)).size).toBe(6);
});

test('the picture ends below the lowest person', () => {
	const three = placeNodes(people, () => 1);
	expect(heightOf(three)).toBeLessThan(SIZE);
	expect(Math.max(...three.map((one) => one.y)) + NODE_RADIUS).toBeLessThan(heightOf(three));
});

test('affinity is width and trust is colour', () => {
	expect(arrowWidth(100)).toBeGreaterThan(arrowWidth(10));
	expect(arrowWidth(-50)).toBe(arrowWidth(50));
	expect(arrowColour(40)).toContain('--done');
	expect(arrowColour(-40)).toContain('--trouble');
});

test('an arrow shows the edge in its own direction', () => {
	const edge = { affinity: 12, trust: -3, summary: 'Wary.', facts: [] };
	const arrows = placeArrows(placeNodes(people, () => 1), { 'a>you': edge });
	expect(arrows.find((one) => one.key === 'a>you')?.edge).toEqual(edge);
	expect(arrows.find((one) => one.key === 'you>a')?.edge.affinity).toBe(0);
});
