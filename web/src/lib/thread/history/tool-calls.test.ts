import { expect, it } from 'vitest';
import { formatArguments, summarizeArguments } from './tool-calls';

it('shows each argument on its own line', () => {
	expect(formatArguments('{"query":"tea","limit":3}')).toBe('query: tea\nlimit: 3');
	expect(formatArguments('{}')).toBe('Nothing.');
	expect(formatArguments('[1,')).toBe('[1,');
});

it('summarizes a call by its first text', () => {
	expect(summarizeArguments('{"limit":3,"query":"green\\n tea"}')).toBe('“green tea”');
	expect(summarizeArguments('{"limit":3}')).toBe('');
	expect(summarizeArguments(JSON.stringify({ query: 'x'.repeat(90) }))).toHaveLength(63);
});
