import { beforeEach, expect, test, vi } from 'vitest';
import { readDraft, storeDraft, witnessesOf } from './draft';

const kept = new Map<string, string>();

beforeEach(() => {
	kept.clear();
	vi.stubGlobal('localStorage', {
		getItem: (name: string) => kept.get(name) ?? null,
		setItem: (name: string, value: string) => kept.set(name, value)
	});
});

test('a draft keeps whom it is for', () => {
	storeDraft('w', { text: 'The key', kind: 'outside', scene: 's1:you,ada,ben', witnesses: ['you', 'ada'] });
	const draft = readDraft('w');
	expect([draft.text, draft.kind]).toEqual(['The key', 'outside']);
	expect(witnessesOf(draft, 's1:you,ada,ben', ['you', 'ada', 'ben'])).toEqual(['you', 'ada']);
});

test('in another scene all who are present hear it', () => {
	storeDraft('w', { text: '', kind: 'speech', scene: 's1:you,ada', witnesses: ['you'] });
	expect(witnessesOf(readDraft('w'), 's2:you,ada', ['you', 'ada'])).toEqual(['you', 'ada']);
});

test('a draft that is plain text is a line of speech', () => {
	kept.set('everloop.world-draft:w', 'Good evening');
	expect(readDraft('w')).toMatchObject({ text: 'Good evening', kind: 'speech' });
});
