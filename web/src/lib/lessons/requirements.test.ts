import { expect, test } from 'vitest';
import { describeDuration, describeFact, describeProgress, nextSteps, type Check } from './requirements';

const now = new Date('2026-03-04T10:00:00');
const check = (part: Partial<Check>): Check => ({ name: 'uses', title: 'Used often enough', fact: 'used once', passed: true, violations: [], count: null, required: null, ready_at: null, ...part });

test('the progress counts the requirements that are met', () => {
	expect(describeProgress([check({}), check({ passed: false })])).toBe('1 of 2 requirements met');
	expect(describeProgress([check({})])).toBe('All requirements met');
});

test('an age is told in the unit that fits it', () => {
	expect(describeDuration(90)).toBe('1 minute');
	expect(describeDuration(23.9 * 3600)).toBe('23 hours');
	expect(describeDuration(19 * 86_400)).toBe('19 days');
	expect(describeFact(check({ name: 'age', count: 0, fact: 'its words are 0.0 h old' }))).toBe('Its text is 0 minutes old.');
});

test('a status is told in the word of its badge', () => {
	expect(describeFact(check({ name: 'standing', fact: 'it is pending' }), 'Proposed')).toBe('It is proposed.');
});

test('a text that is too new says until when to wait, and no code', () => {
	const violations = [{ code: 'time-floor', message: 'time-floor: age=0s < required=86400s', fact: '', satisfied_by: 'wait until 2026-03-05 09:30 UTC' }];
	const young = check({ name: 'age', passed: false, count: 0, required: 86_400, ready_at: '2026-03-05T09:30:00', violations });
	expect(nextSteps(young, now)).toEqual([expect.stringMatching(/^Wait until tomorrow 0?9:30/)]);
});

test('any other requirement says what would meet it', () => {
	const violations = [{ code: 'missing-causal-narrative', message: 'missing-causal-narrative', fact: '', satisfied_by: 'write a narrative' }];
	expect(nextSteps(check({ passed: false, violations }), now)).toEqual(['Write a narrative.']);
});
