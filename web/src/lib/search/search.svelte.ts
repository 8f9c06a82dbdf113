/** A search over everything that was said. What is wanted stands in the address. */
import { api, told, type Shape } from '$lib/api/client';
import { Asked } from '$lib/live/query.svelte';
import { routes } from '$lib/routes';
import { isDay, startOf } from '$lib/format/days';

const MODES = ['hybrid', 'text', 'semantic'] as const;
const ROLES = ['', 'user', 'assistant'] as const;
const PAGE = 50;
const MOST = 500; // that the engine gives at once

export type Wanted = {
	q: string;
	mode: (typeof MODES)[number];
	role: (typeof ROLES)[number];
	thread: string;
	since: string;
	before: string;
};

/** What an address asks for. */
export function wantedOf(url: URL): Wanted {
	const given = (name: string) => url.searchParams.get(name) ?? '';
	return {
		q: given('q'),
		mode: MODES.find((mode) => mode === given('mode')) ?? 'hybrid',
		role: ROLES.find((role) => role === given('role')) ?? '',
		thread: given('thread'),
		since: given('since'),
		before: given('before')
	};
}

/** The address that asks for it. */
export function addressOf(wanted: Wanted): string {
	const query = new URLSearchParams();
	for (const [name, value] of Object.entries(wanted)) {
		if (value && !(name === 'mode' && value === 'hybrid')) query.set(name, value);
	}
	return query.size ? `${routes.search()}?${query}` : routes.search();
}

export class Search {
	found = new Asked<Shape<'SearchOut'>>();
	#limit = $state(PAGE);
	#wanted: Wanted | null = null;

	/** Whether there may be more than are shown. */
	get more(): boolean {
		return this.#limit < MOST && this.full;
	}

	/** Whether these are as many as were asked for: then they are the best, and not all. */
	get full(): boolean {
		return (this.found.data?.hits.length ?? 0) >= this.#limit;
	}

	async look(wanted: Wanted): Promise<void> {
		this.#limit = PAGE;
		this.#wanted = wanted;
		await this.#ask(wanted);
	}

	/** Look for more of the same. */
	async further(): Promise<void> {
		if (!this.#wanted) return;
		this.#limit = Math.min(MOST, this.#limit * 2);
		await this.#ask(this.#wanted);
	}

	async #ask(wanted: Wanted): Promise<void> {
		const query = wanted.q.trim();
		if (!query) return;
		const params = {
			query: {
				query,
				mode: wanted.mode,
				role: wanted.role,
				thread_id: wanted.thread,
				limit: this.#limit,
				...(isDay(wanted.since) ? { since: startOf(wanted.since) } : {}),
				...(isDay(wanted.before) ? { before: startOf(wanted.before, 1) } : {})
			}
		};
		// The client forgets that a boost is a pair.
		await this.found.ask(() => told(api.GET('/api/search', { params })) as Promise<Shape<'SearchOut'>>);
	}
}
