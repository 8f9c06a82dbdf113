import { describe, expect, it } from 'vitest';
import { toApiError } from './client';

describe('an error of the server', () => {
	it.each([
		["'window seat' is taken by Ada", "'window seat' is taken by Ada."],
		['nobody can get to the roof', 'Nobody can get to the roof.'],
		['thread.model is not set', 'thread.model is not set.'],
		['Which of them?', 'Which of them?']
	])('%s reads as a sentence', (message, shown) => {
		expect(toApiError({ error: message, hint: 'Choose another one.' }).message).toBe(shown);
	});
});
