/** All conversations, kept up to date. */
import { api, unwrap, type Schema } from '$lib/api/client';
import { RetryingRequest } from '$lib/api/retrying-request';
import { Query } from '$lib/live/query.svelte';
import { reloadOn } from '$lib/live/reload-on';
import { HOME } from '$lib/routes';

class Threads {
	#query = new Query<Schema<'ThreadOut'>[]>();
	#request = new RetryingRequest();
	list = $derived(this.#query.data ?? []);
	/** All conversations except the home thread. */
	named = $derived(this.list.filter((one) => one.thread_id !== HOME));

	/** Load them, and reload when one of them changes. Returns a function that unsubscribes. */
	follow(): () => void {
		void this.load();
		return reloadOn(/^thread\.thread_/, () => void this.load());
	}

	load(): Promise<void> {
		return this.#query.run(() => unwrap(api.GET('/api/threads')));
	}

	/** Create a conversation. Returns its id. */
	async create(title: string): Promise<string> {
		const created = await this.#request.send(title, (request_id) => unwrap(api.POST('/api/threads', { body: { title, request_id } })));
		await this.load();
		return created.thread_id;
	}

	titleOf(threadId: string): string {
		return this.list.find((one) => one.thread_id === threadId)?.title ?? '';
	}
}

export const threads = new Threads();
