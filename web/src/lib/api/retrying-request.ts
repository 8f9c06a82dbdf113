/** Requests with an idempotency key: safe to retry when no response arrives, because the server carries them out once. */
import { newId } from '$lib/browser/random-id';
import { toApiError } from './client';

const PAUSES_MS = [500, 2000];

export class RetryingRequest {
	#body = '';
	#id = '';

	constructor(readonly pausesMs: readonly number[] = PAUSES_MS) {}

	/** Send, and retry if there is no response. The same body keeps its request id until it succeeds, so a person can retry, too. */
	async send<Data>(body: unknown, send: (requestId: string) => Promise<Data>): Promise<Data> {
		const key = JSON.stringify(body);
		if (key !== this.#body) [this.#body, this.#id] = [key, newId()];
		const data = await this.#retry(send, this.#id);
		if (key === this.#body) this.#body = '';
		return data;
	}

	async #retry<Data>(send: (requestId: string) => Promise<Data>, id: string): Promise<Data> {
		for (const pause of this.pausesMs) {
			try {
				return await send(id);
			} catch (error) {
				if (toApiError(error).status !== 0) throw error; // the server answered
			}
			await new Promise((resolve) => setTimeout(resolve, pause));
		}
		return send(id);
	}
}
