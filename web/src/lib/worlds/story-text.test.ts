import { expect, test } from 'vitest';
import { markLine, paragraphs, storyParts } from './story-text';

test('speech, actions and words outside the story are told apart', () => {
	expect(storyParts('*nods* Good evening. ((brb))')).toEqual([
		{ kind: 'action', text: 'nods' },
		{ kind: 'speech', text: ' Good evening. ' },
		{ kind: 'outside', text: 'brb' }
	]);
	expect(storyParts('Hi ((brb')).toEqual([
		{ kind: 'speech', text: 'Hi ' },
		{ kind: 'outside', text: 'brb' }
	]);
	expect(storyParts('2 * 3 is six')).toEqual([{ kind: 'speech', text: '2 * 3 is six' }]);
});

test('an aside inside an action is an aside', () => {
	expect(storyParts('*nods ((brb)) twice*').map((one) => one.kind)).toEqual(['speech', 'outside', 'speech']);
});

test('a text of marks alone takes no time', () => {
	for (const text of ['x' + '('.repeat(90_000), '*'.repeat(90_000)]) expect(storyParts(text)).toHaveLength(1);
});

test('a line is marked as what was chosen, once', () => {
	expect(markLine('waves', 'action')).toBe('*waves*');
	expect(markLine('*waves* Hello', 'action')).toBe('*waves* Hello');
	expect(markLine('slower please', 'outside')).toBe('((slower please))');
	expect(markLine(' Hello ', 'speech')).toBe('Hello');
});

test('paragraphs are parted by empty lines', () => {
	expect(paragraphs('One\ntwo\n\n\nThree')).toEqual(['One\ntwo', 'Three']);
});
