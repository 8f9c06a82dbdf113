import { describe, expect, it } from 'vitest';
import { Problem } from './client';
import { Attempts } from './retrying-request';

const LOST = new Problem('Everloop cannot be reached.');

/** An engine that answers as it is told, and the ids that it was asked with. */
function engine(...answers: (string | Problem)[]) {
	const ids: string[] = [];
	const ask = async (id: string) => {
		ids.push(id);
		const answer = answers.shift();
		if (answer instanceof Problem) throw answer;
		return answer;
	};
	return { ids, ask };
}

describe('something that is asked of the engine', () => {
	it('is asked again with the same id when nobody answers', async () => {
		const { ids, ask } = engine(LOST, LOST, 'done');
		expect(await new Attempts([0, 0]).make({ text: 'x' }, ask)).toBe('done');
		expect(ids).toHaveLength(3);
		expect(new Set(ids).size).toBe(1);
	});

	it('is not asked again when the answer is no', async () => {
		const { ids, ask } = engine(new Problem('no', '', 422));
		await expect(new Attempts([0, 0]).make({ text: 'x' }, ask)).rejects.toThrow('no');
		expect(ids).toHaveLength(1);
	});

	it('keeps its id when a person asks once more, until it went well', async () => {
		const attempts = new Attempts([]);
		const { ids, ask } = engine(LOST, 'done', 'done');
		await expect(attempts.make({ text: 'x' }, ask)).rejects.toThrow();
		await attempts.make({ text: 'x' }, ask);
		await attempts.make({ text: 'x' }, ask);
		expect(ids[0]).toBe(ids[1]);
		expect(ids[2]).not.toBe(ids[1]);
	});

	it('has another id when it is something else', async () => {
		const attempts = new Attempts([]);
		const { ids, ask } = engine(LOST, 'done');
		await expect(attempts.make({ text: 'x' }, ask)).rejects.toThrow();
		await attempts.make({ text: 'y' }, ask);
		expect(ids[0]).not.toBe(ids[1]);
	});
});
