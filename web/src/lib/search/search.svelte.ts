/** Search over all messages, and over what workers showed. The filter is kept in the address. */
import { api, unwrap, type Schema } from '$lib/api/client';
import { isIsoDay, startOfDay } from '$lib/format/days';
import { Query } from '$lib/live/query.svelte';
import { routes } from '$lib/routes';

const MODES = ['hybrid', 'text', 'semantic'] as const;
const ROLES = ['', 'user', 'assistant'] as const;
const PAGE = 50;
const LIMIT_MAX = 500; // of one response

export type SearchFilter = {
	q: string;
	mode: (typeof MODES)[number];
	role: (typeof ROLES)[number];
	thread: string;
	since: string;
	before: string;
};

/** The filter of an address. */
export function filterFromUrl(url: URL): SearchFilter {
	const param = (name: string) => url.searchParams.get(name) ?? '';
	return {
		q: param('q'),
		mode: MODES.find((mode) => mode === param('mode')) ?? 'hybrid',
		role: ROLES.find((role) => role === param('role')) ?? '',
		thread: param('thread'),
		since: param('since'),
		before: param('before')
	};
}

/** The address of a filter. */
export function urlOfFilter(filter: SearchFilter): string {
	const query = new URLSearchParams();
	for (const [name, value] of Object.entries(filter)) {
		if (value && !(name === 'mode' && value === 'hybrid')) query.set(name, value);
	}
	return query.size ? `${routes.search()}?${query}` : routes.search();
}

export class Search {
	results = new Query<Schema<'SearchOut'>>();
	inTasks = new Query<Schema<'TranscriptSearchOut'>>();
	#limit = $state(PAGE);
	#filter: SearchFilter | null = null;

	/** Whether more results can be loaded. */
	get hasMore(): boolean {
		return this.#limit < LIMIT_MAX && this.limited;
	}

	/** Whether these are only the best results, as many as the limit allows. */
	get limited(): boolean {
		return (this.results.data?.hits.length ?? 0) >= this.#limit;
	}

	async run(filter: SearchFilter): Promise<void> {
		this.#limit = PAGE;
		this.#filter = filter;
		await Promise.all([this.#fetch(filter), this.#fetchInTasks(filter)]);
	}

	/** Load more results of the same search. */
	async loadMore(): Promise<void> {
		if (!this.#filter) return;
		this.#limit = Math.min(LIMIT_MAX, this.#limit * 2);
		await this.#fetch(this.#filter);
	}

	/** The places in transcripts that fit; none where only messages are wanted. */
	async #fetchInTasks(filter: SearchFilter): Promise<void> {
		const query = filter.q.trim();
		const onlyMessages = filter.thread || filter.role || filter.mode === 'semantic';
		const since = isIsoDay(filter.since) ? startOfDay(filter.since) : '';
		const before = isIsoDay(filter.before) ? startOfDay(filter.before, 1) : '';
		const isWithin = (at: string) => (!since || Date.parse(at) >= Date.parse(since)) && (!before || Date.parse(at) < Date.parse(before));
		if (!query || onlyMessages) {
			this.inTasks.data = null;
			return;
		}
		await this.inTasks.run(async () => {
			const found = await unwrap(api.GET('/api/tasks/search', { params: { query: { query } } }));
			return { ...found, hits: found.hits.filter((hit) => isWithin(hit.at)) };
		});
	}

	async #fetch(filter: SearchFilter): Promise<void> {
		const query = filter.q.trim();
		if (!query) return;
		const params = {
			query: {
				query,
				mode: filter.mode,
				role: filter.role,
				thread_id: filter.thread,
				limit: this.#limit,
				...(isIsoDay(filter.since) ? { since: startOfDay(filter.since) } : {}),
				...(isIsoDay(filter.before) ? { before: startOfDay(filter.before, 1) } : {})
			}
		};
		// The generated client types a boost as an array instead of a pair.
		await this.results.run(() => unwrap(api.GET('/api/search', { params })) as Promise<Schema<'SearchOut'>>);
	}
}
