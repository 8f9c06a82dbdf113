import { expect, test } from 'vitest';
import { describeWorldImpact } from './impact';

const hides = (...kinds: string[]) => ({ hides: kinds.map((kind, position) => ({ kind, position, stream: 'world:w' })), restores: [], kinds: {} });

test('what would go is told in one sentence', () => {
	const impact = hides('worlds.version_rendered', 'worlds.version_chosen', 'worlds.edge_shifted', 'worlds.edge_shifted');
	expect(describeWorldImpact(impact, 'retract')).toBe('One line and two changes of feelings will be gone for everyone who knew. You can undo this.');
	expect(describeWorldImpact(hides(), 'rewind')).toBe('Nothing else changes.');
});
