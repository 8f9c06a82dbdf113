/** One question to the engine and how it stands: for pages that read a thing and show it. */
import { problemOf, type Problem } from '$lib/api/client';

export class Asked<Data> {
	data = $state<Data | null>(null);
	problem = $state<Problem | null>(null);
	busy = $state(false);
	#newest = 0;

	/** Ask; a later question overtakes an earlier one. */
	async ask(question: () => Promise<Data>): Promise<void> {
		const mine = ++this.#newest;
		this.busy = true;
		try {
			const data = await question();
			if (mine !== this.#newest) return;
			this.data = data;
			this.problem = null;
		} catch (error) {
			if (mine === this.#newest) this.problem = problemOf(error);
		} finally {
			if (mine === this.#newest) this.busy = false;
		}
	}
}
