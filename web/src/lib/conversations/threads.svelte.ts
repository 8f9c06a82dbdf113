/** All conversations, kept up to date. */
import { api, toApiError, unwrap, type Schema } from '$lib/api/client';
import { RetryingRequest } from '$lib/api/retrying-request';
import { readOffline, writeOffline } from '$lib/browser/offline-store';
import { Query } from '$lib/live/query.svelte';
import { reloadOn } from '$lib/live/reload-on';
import { HOME } from '$lib/routes';

const KEY = 'conversations';

class Threads {
	#query = new Query<Schema<'ThreadOut'>[]>();
	#request = new RetryingRequest();
	list = $derived(this.#query.data ?? []);
	#others = $derived(this.list.filter((one) => one.thread_id !== HOME));
	/** All conversations except the home thread and archived ones, pinned ones first. */
	named = $derived(this.#others.filter((one) => !one.archived));
	archived = $derived(this.#others.filter((one) => one.archived));

	/** Load them, and reload when one of them changes. Returns a function that unsubscribes. */
	follow(): () => void {
		void this.load();
		return reloadOn(/^thread\.thread_/, () => void this.load());
	}

	load(): Promise<void> {
		return this.#query.run(() => this.#fetch());
	}

	/** The list from the server; without a connection, as it was last seen. */
	async #fetch(): Promise<Schema<'ThreadOut'>[]> {
		try {
			const list = await unwrap(api.GET('/api/threads', { params: { query: { archived: true } } }));
			void writeOffline(KEY, list);
			return list;
		} catch (error) {
			const stored = toApiError(error).unreached ? await readOffline<Schema<'ThreadOut'>[]>(KEY) : undefined;
			if (stored) return stored;
			throw error;
		}
	}

	/** Create a conversation. Returns its id. */
	async create(title: string): Promise<string> {
		const created = await this.#request.send(title, (request_id) => unwrap(api.POST('/api/threads', { body: { title, request_id } })));
		await this.load();
		return created.thread_id;
	}

	/** Change a conversation: its title, whether it is archived, whether it is pinned. */
	async change(thread_id: string, change: { title?: string; archived?: boolean; pinned?: boolean }): Promise<void> {
		const params = { path: { thread_id } };
		await this.#request.send({ thread_id, change }, (request_id) =>
			unwrap(api.PATCH('/api/threads/{thread_id}', { params, body: { ...change, request_id } }))
		);
		await this.load();
	}

	/** What deleting a conversation would hide. */
	previewDelete(thread_id: string): Promise<Schema<'ImpactOut'>> {
		return unwrap(api.GET('/api/threads/{thread_id}/retraction', { params: { path: { thread_id } } }));
	}

	/** Delete a conversation. Returns the position to retract, which undoes it. */
	async delete(thread_id: string): Promise<number> {
		const params = { path: { thread_id } };
		const done = await this.#request.send({ delete: thread_id }, (request_id) =>
			unwrap(api.POST('/api/threads/{thread_id}/retraction', { params, body: { request_id } }))
		);
		await this.load();
		return done.position;
	}

	titleOf(threadId: string): string {
		return this.list.find((one) => one.thread_id === threadId)?.title ?? '';
	}
}

export const threads = new Threads();
