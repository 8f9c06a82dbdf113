/** State of the timeline: the periods of a thread, the visible span and the selected period. */
import { api, unwrap, type Schema } from '$lib/api/client';
import { Query } from '$lib/live/query.svelte';
import { reloadOn } from '$lib/live/reload-on';
import { TIERS } from '$lib/thread/types';
import { layoutRows, pan, parentBand, selectPart, spanFromDays, spanOf, zoom, type Band, type Span } from './bands';

export class Timeline {
	bands = new Query<Band[]>();
	detail = new Query<Schema<'CloserOut'>>();
	key = $state('');
	selected = $derived(this.bands.data?.find((band) => band.key === this.key) ?? null);
	parent = $derived(this.selected && this.bands.data ? parentBand(this.bands.data, this.selected) : null);
	/** The visible span after panning or zooming. */
	#custom = $state.raw<Span | null>(null);
	whole = $derived(spanOf((this.bands.data ?? []).filter((band) => band.tier === 'day')));
	span = $derived(this.#custom ?? (this.selected ? spanOf([this.selected]) : this.whole));
	showsAll = $derived(this.span.until - this.span.from >= this.whole.until - this.whole.from);
	rows = $derived(this.bands.data?.length ? layoutRows(this.bands.data, this.span) : []);

	constructor(readonly threadId: string) {}

	/** Load it, and reload when a summary changes. Returns a function that unsubscribes. */
	follow(): () => void {
		this.load();
		return reloadOn(/^thread\.(window_|day_marked|import_ended|answer_given)/, () => this.load());
	}

	load(): void {
		const params = { path: { thread_id: this.threadId }, query: { tier: TIERS } };
		void this.bands.run(() => unwrap(api.GET('/api/threads/{thread_id}/timeline', { params })));
	}

	/** Show the span between two days; without them, the selected period. */
	show(from: string, until: string): void {
		this.#custom = spanFromDays(from, until);
	}

	pan(share: number): void {
		this.#custom = pan(this.span, share, this.whole);
	}

	zoom(factor: number, at = 0.5): void {
		this.#custom = zoom(this.span, factor, at, this.whole);
	}

	selectPart(one: number, other: number): void {
		this.#custom = selectPart(this.span, one, other, this.whole);
	}

	/** Select a period and load its detail; an empty key selects everything. */
	select(key: string): void {
		this.key = key;
		if (!key) return;
		const params = { path: { thread_id: this.threadId, key } };
		void this.detail.run(() => unwrap(api.GET('/api/threads/{thread_id}/windows/{key}', { params })));
	}

	async toggleImportant(band: Band): Promise<void> {
		const params = { path: { thread_id: this.threadId, day: band.first } };
		await unwrap(api.PUT('/api/threads/{thread_id}/days/{day}', { params, body: { important: !band.important } }));
		this.load();
		this.select(this.key);
	}
}
