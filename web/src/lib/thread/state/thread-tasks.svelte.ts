/** The tasks of a conversation, for their cards between its messages; kept up to date. */
import { api, type Schema } from '$lib/api/client';
import { reloadOn } from '$lib/live/reload-on';

export type ThreadTask = Schema<'WorkerTaskOut'>;

export class ThreadTasks {
	list = $state.raw<ThreadTask[]>([]);
	suggestions = $state.raw<Schema<'RoutingSuggestionOut'>[]>([]);

	constructor(readonly threadId: string) {}

	/** Load them, and reload when one changes. Returns a function that unsubscribes. */
	follow(): () => void {
		void this.load();
		return reloadOn(/^workers\.(?!transcript_recorded|spending_recorded)/, () => void this.load());
	}

	async load(): Promise<void> {
		const params = { path: { thread_id: this.threadId } };
		const found = await api.GET('/api/tasks/of-thread/{thread_id}', { params }).catch(() => undefined);
		if (found?.data) this.#take(found.data);
	}

	/** Send a message to a running task, or to none (empty). Returns whether that went well. */
	async route(messageId: string, taskId: string): Promise<boolean> {
		const params = { path: { thread_id: this.threadId } };
		const body = { message_id: messageId, task_id: taskId, request_id: '' }; // it is sent once anyway: the server names it after the message
		const found = await api.POST('/api/tasks/of-thread/{thread_id}/route', { params, body }).catch(() => undefined);
		if (found?.data) this.#take(found.data);
		else await this.load();
		return Boolean(found?.data);
	}

	#take(found: Schema<'TaskListOut'>) {
		this.list = found.tasks;
		this.suggestions = found.suggestions;
	}
}
