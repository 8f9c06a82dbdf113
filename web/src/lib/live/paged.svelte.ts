/** Things a page after another, as many as there are. */
import { untrack } from 'svelte';
import { problemOf, type Problem } from '$lib/api/client';
import { rereading } from '$lib/follow.svelte';

const PAGE = 100;
const LIMIT_MAX = 500; // that the engine gives at once

export type Page<Item> = { items: Item[]; total: number };
export type Pages<Item> = (part: { limit: number; offset: number }) => Promise<Page<Item>>;

export class Paged<Item> {
	items = $state.raw<Item[]>([]);
	/** How many there are; below 0: that is not known yet. */
	total = $state(-1);
	problem = $state<Problem | null>(null);
	#pages: Pages<Item> | null = null;
	#newest = 0;
	#busy = false;

	/** Show these from the newest on, and again when a fact of such a kind comes; what is returned ends it. */
	follow(kinds: RegExp, pages: Pages<Item>): () => void {
		this.#pages = pages;
		this.total = -1;
		this.items = [];
		untrack(() => void this.read());
		return rereading(kinds, () => void this.read());
	}

	/** Read as many as are shown now. */
	async read(): Promise<void> {
		this.#newest += 1;
		await this.#ask(0, Math.min(LIMIT_MAX, Math.max(PAGE, this.items.length)), () => []);
	}

	/** Read on, if there is more. */
	async more(): Promise<void> {
		if (this.#busy || this.items.length >= this.total) return;
		this.#busy = true;
		await this.#ask(this.items.length, PAGE, () => this.items);
		this.#busy = false;
	}

	/** What was asked before the newest reading says nothing any more. */
	async #ask(offset: number, limit: number, before: () => Item[]): Promise<void> {
		if (!this.#pages) return;
		const mine = this.#newest;
		try {
			const page = await this.#pages({ limit, offset });
			if (mine !== this.#newest) return;
			this.items = [...before(), ...page.items];
			this.total = page.total;
			this.problem = null;
		} catch (error) {
			if (mine === this.#newest) this.problem = problemOf(error);
		}
	}
}
