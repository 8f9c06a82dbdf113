/** Filter of the memory list, kept in the address, and how its pages are loaded. */
import { api, unwrap, type Schema } from '$lib/api/client';
import { isIsoDay, startOfDay } from '$lib/format/days';
import type { LoadPage } from '$lib/live/paged-list.svelte';

export type Memory = Schema<'ItemOut'>;
export type MemoryKind = 'kept' | 'summary' | 'message' | 'all';
export type MemoryFilter = { kind: MemoryKind; scope: string; pinned: boolean; archived: boolean; since: string };

/** Facts that change the list. */
export const LIST_CHANGES = /^memory\.(remembered|revised|rated|pinned|unpinned|retired|demoted)$/;
const KINDS: Record<MemoryKind, string[]> = { kept: ['fact', 'quote'], summary: ['summary'], message: ['message'], all: [] };
export const KIND_OPTIONS = [
	{ value: 'kept', label: 'Saved' },
	{ value: 'summary', label: 'Summaries' },
	{ value: 'message', label: 'Messages' },
	{ value: 'all', label: 'All' }
];

/** The filter of an address. */
export function filterFromUrl(url: URL): MemoryFilter {
	const param = (name: string) => url.searchParams.get(name) ?? '';
	return {
		kind: (KIND_OPTIONS.find((option) => option.value === param('sort'))?.value ?? 'kept') as MemoryKind,
		scope: param('scope'),
		pinned: param('pinned') === '1',
		archived: param('retired') === '1',
		since: param('since')
	};
}

/** Loads the pages of the memories that match a filter. */
export function memoryPages({ kind, scope, pinned, archived, since }: MemoryFilter): LoadPage<Memory> {
	const filter = {
		kind: KINDS[kind],
		scope: scope ? [scope] : [],
		pinned,
		retired: archived,
		...(isIsoDay(since) ? { since: startOfDay(since) } : {})
	};
	return (part) => unwrap(api.GET('/api/memories', { params: { query: { ...filter, ...part } } }));
}
