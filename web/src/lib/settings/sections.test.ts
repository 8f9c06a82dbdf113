import { expect, test } from 'vitest';
import { matchingSections, plainName } from './sections';

test('a search finds a section by what it is about', () => {
	expect(matchingSections('dark').map((section) => section.id)).toEqual(['appearance', 'all']);
	expect(matchingSections('chatgpt').map((section) => section.id)).toEqual(['import-export', 'all']);
	expect(matchingSections('microphone').map((section) => section.id)).toEqual(['speech', 'all']);
	expect(matchingSections('').length).toBe(10);
});

test('a setting has a plain name', () => {
	expect(plainName('models.timeout_s')).toBe('Timeout (seconds)');
	expect(plainName('thread.answer.tokens_max')).toBe('Answer tokens, at most');
	expect(plainName('home')).toBe('Home');
});
