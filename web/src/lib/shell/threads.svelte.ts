/** Every conversation, kept in step with the log. */
import { api, told, type Shape } from '$lib/api/client';
import { Attempts } from '$lib/api/retrying-request';
import { rereading } from '$lib/live/reload-on';
import { Asked } from '$lib/live/query.svelte';
import { HOME } from '$lib/routes';

class Threads {
	#known = new Asked<Shape<'ThreadOut'>[]>();
	#attempts = new Attempts();
	list = $derived(this.#known.data ?? []);
	/** Those beside the home thread. */
	named = $derived(this.list.filter((one) => one.thread_id !== HOME));

	/** Read them, and again when one of them changes; what is returned ends it. */
	follow(): () => void {
		void this.read();
		return rereading(/^thread\.thread_/, () => void this.read());
	}

	read(): Promise<void> {
		return this.#known.ask(() => told(api.GET('/api/threads')));
	}

	async open(title: string): Promise<string> {
		const made = await this.#attempts.make(title, (request_id) => told(api.POST('/api/threads', { body: { title, request_id } })));
		await this.read();
		return made.thread_id;
	}

	titleOf(threadId: string): string {
		return this.list.find((one) => one.thread_id === threadId)?.title ?? '';
	}
}

export const threads = new Threads();
