import { expect, it } from 'vitest';
import { sentence } from './impact';

const impact = (...kinds: string[]) => ({
	hides: kinds.map((kind, position) => ({ kind, position, stream: 's' })),
	restores: [],
	kinds: {}
});

it('says in words what goes', () => {
	const kinds = ['thread.message_sent', 'thread.message_sent', 'thread.answer_given'];
	expect(sentence(impact(...kinds), 'back')).toMatch(/^Two messages and one answer that came later/);
});

it('says so when nothing else changes', () => {
	expect(sentence(impact(), 'away')).toBe('Nothing else changes.');
});
