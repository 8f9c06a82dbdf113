/** The past of a thread as nested windows, and the one that is looked at. */
import { api, told, type Shape } from '$lib/api/client';
import { rereading } from '$lib/live/reload-on';
import { Asked } from '$lib/live/query.svelte';
import { TIERS } from '$lib/thread/types';
import { above, between, moved, rowsOf, spanBetween, spanOf, zoomed, type Band, type Span } from './bands';

export class Timeline {
	known = new Asked<Band[]>();
	closer = new Asked<Shape<'CloserOut'>>();
	key = $state('');
	at = $derived(this.known.data?.find((band) => band.key === this.key) ?? null);
	outer = $derived(this.at && this.known.data ? above(this.known.data, this.at) : null);
	/** What is seen when one has moved or zoomed by hand. */
	#own = $state.raw<Span | null>(null);
	whole = $derived(spanOf((this.known.data ?? []).filter((band) => band.tier === 'day')));
	span = $derived(this.#own ?? (this.at ? spanOf([this.at]) : this.whole));
	all = $derived(this.span.until - this.span.from >= this.whole.until - this.whole.from);
	rows = $derived(this.known.data?.length ? rowsOf(this.known.data, this.span) : []);

	constructor(readonly threadId: string) {}

	/** Read it, and again when a window was summed up; what is returned ends it. */
	follow(): () => void {
		this.read();
		return rereading(/^thread\.(window_|day_marked|import_ended|answer_given)/, () => this.read());
	}

	read(): void {
		const params = { path: { thread_id: this.threadId }, query: { tier: TIERS } };
		void this.known.ask(() => told(api.GET('/api/threads/{thread_id}/timeline', { params })));
	}

	/** See a stretch between two days; without them, the window that is looked at. */
	see(from: string, until: string): void {
		this.#own = spanBetween(from, until);
	}

	move(share: number): void {
		this.#own = moved(this.span, share, this.whole);
	}

	zoom(factor: number, at = 0.5): void {
		this.#own = zoomed(this.span, factor, at, this.whole);
	}

	select(one: number, other: number): void {
		this.#own = between(this.span, one, other, this.whole);
	}

	/** Look closer at a window; without one, at everything. */
	look(key: string): void {
		this.key = key;
		if (!key) return;
		const params = { path: { thread_id: this.threadId, key } };
		void this.closer.ask(() => told(api.GET('/api/threads/{thread_id}/windows/{key}', { params })));
	}

	async mark(band: Band): Promise<void> {
		const params = { path: { thread_id: this.threadId, day: band.first } };
		await told(api.PUT('/api/threads/{thread_id}/days/{day}', { params, body: { important: !band.important } }));
		this.read();
		this.look(this.key);
	}
}
