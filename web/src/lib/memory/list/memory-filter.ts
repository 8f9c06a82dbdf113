/** Memories by the time they happened, a page after another. What is wanted stands in the address. */
import { api, told, type Shape } from '$lib/api/client';
import type { Pages } from '$lib/live/paged-list.svelte';
import { isDay, startOf } from '$lib/format/days';

export type Item = Shape<'ItemOut'>;
export type Sort = 'kept' | 'summary' | 'message' | 'all';
export type Wanted = { sort: Sort; scope: string; pinned: boolean; retired: boolean; since: string };

/** The facts that change the list. */
export const CHANGES = /^memory\.(remembered|revised|rated|pinned|unpinned|retired|demoted)$/;
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

/** Such memories, a page at a time. */
export function pagesOf({ sort, scope, pinned, retired, since }: Wanted): Pages<Item> {
	const wanted = {
		kind: KINDS[sort],
		scope: scope ? [scope] : [],
		pinned,
		retired,
		...(isDay(since) ? { since: startOf(since) } : {})
	};
	return (part) => told(api.GET('/api/memories', { params: { query: { ...wanted, ...part } } }));
}
