import { describe, expect, it } from 'vitest';
import { ApiError } from './client';
import { RetryingRequest } from './retrying-request';

const LOST = new ApiError('Can’t reach Everloop.');

/** A fake server with scripted responses, and the request ids it received. */
function server(...responses: (string | ApiError)[]) {
	const ids: string[] = [];
	const send = async (id: string) => {
		ids.push(id);
		const response = responses.shift();
		if (response instanceof ApiError) throw response;
		return response;
	};
	return { ids, send };
}

describe('a retrying request', () => {
	it('is sent again with the same id when there is no response', async () => {
		const { ids, send } = server(LOST, LOST, 'done');
		expect(await new RetryingRequest([0, 0]).send({ text: 'x' }, send)).toBe('done');
		expect(ids).toHaveLength(3);
		expect(new Set(ids).size).toBe(1);
	});

	it('is not sent again when the server rejects it', async () => {
		const { ids, send } = server(new ApiError('no', '', 422));
		await expect(new RetryingRequest([0, 0]).send({ text: 'x' }, send)).rejects.toThrow('no');
		expect(ids).toHaveLength(1);
	});

	it('keeps its id when a person retries, until it succeeds', async () => {
		const request = new RetryingRequest([]);
		const { ids, send } = server(LOST, 'done', 'done');
		await expect(request.send({ text: 'x' }, send)).rejects.toThrow();
		await request.send({ text: 'x' }, send);
		await request.send({ text: 'x' }, send);
		expect(ids[0]).toBe(ids[1]);
		expect(ids[2]).not.toBe(ids[1]);
	});

	it('gets another id when the body differs', async () => {
		const request = new RetryingRequest([]);
		const { ids, send } = server(LOST, 'done');
		await expect(request.send({ text: 'x' }, send)).rejects.toThrow();
		await request.send({ text: 'y' }, send);
		expect(ids[0]).not.toBe(ids[1]);
	});
});
