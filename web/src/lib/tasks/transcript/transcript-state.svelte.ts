/** The transcript of a task, followed live: what was recorded is loaded, and what comes is added as it is recorded. */
import { api, toApiError, unwrap, type ApiError } from '$lib/api/client';
import type { Fact } from '$lib/live/fact';
import { session } from '$lib/session/session.svelte';
import { transcriptRows, type Entry, type TranscriptPart } from './transcript';

export class Transcript {
	#parts = $state.raw<TranscriptPart[]>([]);
	rows = $derived(transcriptRows(this.#parts));
	loaded = $state(false);
	error = $state<ApiError | null>(null);
	#loading: Promise<void> | null = null;

	constructor(readonly taskId: string) {}

	/** Load it and follow it. Returns a function that unsubscribes. */
	follow(): () => void {
		void this.load();
		return session.events.listen({ reset: () => void this.load(), fact: (fact) => this.#take(fact) });
	}

	load(): Promise<void> {
		this.#loading ??= this.#load().finally(() => (this.#loading = null));
		return this.#loading;
	}

	async #load(): Promise<void> {
		try {
			for (;;) {
				const params = { path: { task_id: this.taskId }, query: { after: this.#parts.at(-1)?.position ?? 0 } };
				const { parts } = await unwrap(api.GET('/api/tasks/{task_id}/transcript', { params }));
				this.#add(parts);
				if (!parts.length) break;
			}
			this.loaded = true;
			this.error = null;
		} catch (error) {
			this.error = toApiError(error);
		}
	}

	#take(fact: Fact): void {
		if (fact.kind !== 'workers.transcript_recorded' || fact.data?.task_id !== this.taskId) return;
		if (this.#loading || !this.loaded) return void this.load().then(() => this.load());
		const { attempt, entries } = fact.data as { attempt: number; entries: Partial<Entry>[] };
		const whole = entries.map((one) => ({ kind: 'output', text: '', name: '', ref: '', ...one }));
		this.#add([{ position: fact.position, attempt, at: fact.recorded_at, entries: whole }]);
	}

	#add(parts: TranscriptPart[]): void {
		const last = this.#parts.at(-1)?.position ?? 0;
		const fresh = parts.filter((one) => one.position > last);
		if (fresh.length) this.#parts = [...this.#parts, ...fresh];
	}
}
