/** The past of a thread as nested windows, and the one that is looked at. */
import { api, told, type Shape } from '$lib/api/client';
import { rereading } from '$lib/follow.svelte';
import { Asked } from '$lib/live/wait.svelte';
import { above, rowsOf, spanOf, type Band } from './bands';

export class Timeline {
	known = new Asked<Band[]>();
	closer = new Asked<Shape<'CloserOut'>>();
	key = $state('');
	at = $derived(this.known.data?.find((band) => band.key === this.key) ?? null);
	outer = $derived(this.at && this.known.data ? above(this.known.data, this.at) : null);
	rows = $derived.by(() => {
		const bands = this.known.data ?? [];
		const days = bands.filter((band) => band.tier === 'day');
		return bands.length ? rowsOf(bands, spanOf(this.at ? [this.at] : days)) : [];
	});

	constructor(readonly threadId: string) {}

	/** Read it, and again when a window was summed up; what is returned ends it. */
	follow(): () => void {
		this.read();
		return rereading(/^thread\.(window_|day_marked|import_ended|answer_given)/, () => this.read());
	}

	read(): void {
		const params = {
			path: { thread_id: this.threadId },
			query: { tier: ['decade', 'year', 'month', 'week', 'day'] as Band['tier'][] }
		};
		void this.known.ask(() => told(api.GET('/api/threads/{thread_id}/timeline', { params })));
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
