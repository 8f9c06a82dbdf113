/**
 * Something that is asked of the engine and may get no answer: a phone loses its network. What is asked has an id, so asking again is
 * harmless: the engine carries it out once.
 */
import { problemOf } from './client';
import { newId } from '$lib/browser/random-id';

const PAUSES_MS = [500, 2000];

export class Attempts {
	#what = '';
	#id = '';

	constructor(readonly pausesMs: readonly number[] = PAUSES_MS) {}

	/** Ask, and again if nobody answers. The same thing keeps its id until it went well, so a person can ask once more, too. */
	async make<Data>(what: unknown, ask: (requestId: string) => Promise<Data>): Promise<Data> {
		const said = JSON.stringify(what);
		if (said !== this.#what) [this.#what, this.#id] = [said, newId()];
		const data = await this.#asked(ask, this.#id);
		if (said === this.#what) this.#what = '';
		return data;
	}

	async #asked<Data>(ask: (requestId: string) => Promise<Data>, id: string): Promise<Data> {
		for (const pause of this.pausesMs) {
			try {
				return await ask(id);
			} catch (error) {
				if (problemOf(error).status !== 0) throw error; // that is an answer
			}
			await new Promise((go) => setTimeout(go, pause));
		}
		return ask(id);
	}
}
