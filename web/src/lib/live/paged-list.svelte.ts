/** Things a page after another, as many as there are. */
import { untrack } from 'svelte';
import { problemOf, type Problem } from '$lib/api/client';
import { rereading } from './reload-on';

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

	/** Read as many as are shown now: whoever looks at the last of them is not thrown elsewhere. */
	async read(): Promise<void> {
		this.#newest += 1;
		await this.#ask((pages) => firstOf(pages, Math.max(PAGE, this.items.length)));
	}

	/** Read on, if there is more. */
	async more(): Promise<void> {
		if (this.#busy || this.items.length >= this.total) return;
		this.#busy = true;
		await this.#ask(async (pages) => {
			const page = await pages({ limit: PAGE, offset: this.items.length });
			// If something came or went that nobody told of, the page repeats some that are shown, or leaves some out.
			if (page.total !== this.total) return firstOf(pages, this.items.length + PAGE);
			return { items: [...this.items, ...page.items], total: page.total };
		});
		this.#busy = false;
	}

	/** What was asked before the newest reading says nothing any more. */
	async #ask(read: (pages: Pages<Item>) => Promise<Page<Item>>): Promise<void> {
		if (!this.#pages) return;
		const mine = this.#newest;
		try {
			const { items, total } = await read(this.#pages);
			if (mine !== this.#newest) return;
			[this.items, this.total, this.problem] = [items, total, null];
		} catch (error) {
			if (mine === this.#newest) this.problem = problemOf(error);
		}
	}
}

/** So many from the newest on, or all there are; fewer if they change meanwhile. */
async function firstOf<Item>(pages: Pages<Item>, wanted: number): Promise<Page<Item>> {
	const { items, total } = await pages({ limit: Math.min(LIMIT_MAX, wanted), offset: 0 });
	const all = [...items];
	while (all.length < Math.min(wanted, total)) {
		const page = await pages({ limit: Math.min(LIMIT_MAX, wanted - all.length), offset: all.length });
		if (page.total !== total || !page.items.length) break;
		all.push(...page.items);
	}
	return { items: all, total };
}
