import { expect, it } from 'vitest';
import { describeImpact } from './impact';

const impact = (...kinds: string[]) => ({
	hides: kinds.map((kind, position) => ({ kind, position, stream: 's' })),
	restores: [],
	kinds: {}
});

it('lists what rewinding removes', () => {
	const kinds = ['thread.message_sent', 'thread.message_sent', 'thread.answer_given'];
	expect(describeImpact(impact(...kinds), 'rewind')).toMatch(/^Two messages and one answer that came later/);
});

it('says so when nothing else changes', () => {
	expect(describeImpact(impact(), 'retract')).toBe('Nothing else changes.');
});
