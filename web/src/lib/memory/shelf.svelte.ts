/** Memories by the time they happened, a page after another. What is wanted stands in the address. */
import { untrack } from 'svelte';
import { api, problemOf, told, type Problem, type Shape } from '$lib/api/client';
import { rereading } from '$lib/follow.svelte';

export type Item = Shape<'ItemOut'>;
export type Sort = 'kept' | 'summary' | 'message' | 'all';
export type Wanted = { sort: Sort; scope: string; pinned: boolean; retired: boolean; since: string };

const PAGE = 100;
const KINDS: Record<Sort, string[]> = { kept: ['fact', 'quote'], summary: ['summary'], message: ['message'], all: [] };
export const SORTS = [
	{ value: 'kept', label: 'Kept' },
	{ value: 'summary', label: 'Summaries' },
	{ value: 'message', label: 'Messages' },
	{ value: 'all', label: 'All' }
];

/** What an address asks for. */
export function wantedOf(url: URL): Wanted {
	const given = (name: string) => url.searchParams.get(name) ?? '';
	return {
		sort: (SORTS.find((sort) => sort.value === given('sort'))?.value ?? 'kept') as Sort,
		scope: given('scope'),
		pinned: given('pinned') === '1',
		retired: given('retired') === '1',
		since: given('since')
	};
}

export class Shelf {
	items = $state.raw<Item[]>([]);
	total = $state(-1);
	problem = $state<Problem | null>(null);
	#wanted: Wanted | null = null;
	#newest = 0;
	#busy = false;

	/** Show what is wanted, and again when memory changes; what is returned ends it. */
	follow(wanted: Wanted): () => void {
		this.#wanted = wanted;
		this.total = -1;
		this.items = [];
		untrack(() => void this.read());
		return rereading(/^memory\.(remembered|revised|rated|pinned|unpinned|retired|demoted)$/, () => void this.read());
	}

	/** Read as many as are shown now, from the newest on. */
	async read(): Promise<void> {
		const mine = ++this.#newest;
		await this.#ask(0, Math.min(500, Math.max(PAGE, this.items.length)), (page) => {
			if (mine === this.#newest) this.items = page.items;
		});
	}

	/** Read on, if there is more. */
	async more(): Promise<void> {
		if (this.#busy || this.items.length >= this.total) return;
		this.#busy = true;
		const mine = this.#newest;
		await this.#ask(this.items.length, PAGE, (page) => {
			if (mine === this.#newest) this.items = [...this.items, ...page.items];
		});
		this.#busy = false;
	}

	async #ask(offset: number, limit: number, take: (page: Shape<'ItemsOut'>) => void): Promise<void> {
		if (!this.#wanted) return;
		const { sort, scope, pinned, retired, since } = this.#wanted;
		try {
			const query = {
				kind: KINDS[sort],
				scope: scope ? [scope] : [],
				pinned,
				retired,
				limit,
				offset,
				...(since ? { since: new Date(`${since}T00:00`).toISOString() } : {})
			};
			const page = await told(api.GET('/api/memories', { params: { query } }));
			take(page);
			this.total = page.total;
			this.problem = null;
		} catch (error) {
			this.problem = problemOf(error);
		}
	}
}
