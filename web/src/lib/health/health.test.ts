import { describe, expect, it } from 'vitest';
import { isCommand, problemsOf, type Finding } from './health';

const finding = (topic: string, verdict: Finding['verdict']): Finding => ({ topic, verdict, words: '', next_step: '' });

describe('problems', () => {
	it('come with the worst first, without what is fine or absent', () => {
		const found = [finding('backup', 'attention'), finding('jobs', 'fine'), finding('disk', 'broken'), finding('model', 'absent')];
		expect(problemsOf(found).map((one) => one.topic)).toEqual(['disk', 'backup']);
	});
});

describe('a next step', () => {
	it('is a command only if it begins like one', () => {
		expect(isCommand('everloop backup')).toBe(true);
		expect(isCommand("pip install 'everloop[models]'")).toBe(true);
		expect(isCommand('Free some disk space soon.')).toBe(false);
	});
});
