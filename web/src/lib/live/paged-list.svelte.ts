/** A long list, loaded page by page. */
import { untrack } from 'svelte';
import { toApiError, type ApiError } from '$lib/api/client';
import { reloadOn } from './reload-on';

const PAGE = 100;
const LIMIT_MAX = 500; // of one response

export type Page<Item> = { items: Item[]; total: number };
export type LoadPage<Item> = (part: { limit: number; offset: number }) => Promise<Page<Item>>;

export class PagedList<Item> {
	items = $state.raw<Item[]>([]);
	/** How many items there are; below 0 while that is unknown. */
	total = $state(-1);
	error = $state<ApiError | null>(null);
	#loadPage: LoadPage<Item> | null = null;
	#latest = 0;
	#loading = false;

	/** Load the list, newest first, and reload it when a fact of these kinds arrives. Returns a function that unsubscribes. */
	follow(kinds: RegExp, loadPage: LoadPage<Item>): () => void {
		this.#loadPage = loadPage;
		this.total = -1;
		this.items = [];
		untrack(() => void this.read());
		return reloadOn(kinds, () => void this.read());
	}

	/** Reload as many items as are shown now, so that the scroll position stays valid. */
	async read(): Promise<void> {
		this.#latest += 1;
		await this.#load((loadPage) => firstItems(loadPage, Math.max(PAGE, this.items.length)));
	}

	/** Load the next page, if there is one. */
	async more(): Promise<void> {
		if (this.#loading || this.items.length >= this.total) return;
		this.#loading = true;
		await this.#load(async (loadPage) => {
			const page = await loadPage({ limit: PAGE, offset: this.items.length });
			// The list changed without an event: this page would repeat or skip items.
			if (page.total !== this.total) return firstItems(loadPage, this.items.length + PAGE);
			return { items: [...this.items, ...page.items], total: page.total };
		});
		this.#loading = false;
	}

	/** Responses to requests older than the latest reload are ignored. */
	async #load(read: (loadPage: LoadPage<Item>) => Promise<Page<Item>>): Promise<void> {
		if (!this.#loadPage) return;
		const mine = this.#latest;
		try {
			const { items, total } = await read(this.#loadPage);
			if (mine !== this.#latest) return;
			[this.items, this.total, this.error] = [items, total, null];
		} catch (error) {
			if (mine === this.#latest) this.error = toApiError(error);
		}
	}
}

/** The first `count` items, or all of them; fewer if the list changes meanwhile. */
async function firstItems<Item>(loadPage: LoadPage<Item>, count: number): Promise<Page<Item>> {
	const { items, total } = await loadPage({ limit: Math.min(LIMIT_MAX, count), offset: 0 });
	const all = [...items];
	while (all.length < Math.min(count, total)) {
		const page = await loadPage({ limit: Math.min(LIMIT_MAX, count - all.length), offset: all.length });
		if (page.total !== total || !page.items.length) break;
		all.push(...page.items);
	}
	return { items: all, total };
}
