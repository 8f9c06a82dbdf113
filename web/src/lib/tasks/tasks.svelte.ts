/** Tasks: the board, one task, and what the user decides about it. */
import { api, unwrap, type Schema } from '$lib/api/client';
import { RetryingRequest } from '$lib/api/retrying-request';
import { Query } from '$lib/live/query.svelte';
import { reloadOn } from '$lib/live/reload-on';
import { tryAction } from '$lib/ui/feedback/try-action';

export type Task = Schema<'WorkerTaskOut'>;
export type NewTask = Schema<'NewTaskBody'>;
type BadgeState = 'working' | 'waiting' | 'done' | 'trouble' | 'none';

/** Facts that change how a task stands, or its pull request. Transcripts are followed by themselves. */
export const TASK_CHANGES = /^(workers\.(?!transcript_recorded)|github\.(?!delivery_received|post_begun))/;

/** The label and the colour of a state. */
export const STATES: Record<string, { label: string; state: BadgeState }> = {
	proposed: { label: 'Proposed', state: 'waiting' },
	planned: { label: 'Plan to review', state: 'waiting' },
	approved: { label: 'Queued', state: 'working' },
	running: { label: 'Running', state: 'working' },
	waiting: { label: 'Waiting for you', state: 'waiting' },
	review: { label: 'To review', state: 'waiting' },
	done: { label: 'Done', state: 'done' },
	failed: { label: 'Failed', state: 'trouble' },
	cancelled: { label: 'Cancelled', state: 'none' },
	uncertain: { label: 'Uncertain', state: 'trouble' },
	dismissed: { label: 'Declined', state: 'none' }
};
const STEPS: Record<string, string> = { plan: 'Planning', run: 'Running', check: 'Checking' };

/** How a task stands, in words and colour. */
export function describeState(task: Task): { label: string; state: BadgeState } {
	if (task.cancelling) return { label: 'Cancelling…', state: 'working' };
	const known = STATES[task.state] ?? { label: task.state, state: 'none' as const };
	return task.state === 'running' ? { ...known, label: STEPS[task.step] ?? known.label } : known;
}

export const isEnded = (task: Task): boolean => ['done', 'failed', 'cancelled', 'uncertain', 'dismissed'].includes(task.state);
export const hasFailed = (task: Task): boolean => ['failed', 'uncertain'].includes(task.state);
export const canRetry = (task: Task): boolean => ['failed', 'cancelled', 'uncertain'].includes(task.state);
export const canSteer = (task: Task): boolean =>
	task.runner !== 'command' && !isEnded(task) && task.state !== 'proposed' && !task.cancelling;

/** An amount of US dollars. */
export const formatCost = (usd: number): string => `$${usd.toFixed(2)}`;

/** The last part of a path: enough to recognise a repository. */
export const folderName = (path: string): string => path.replace(/\/+$/, '').split('/').at(-1) ?? path;

/** All open tasks and the newest that ended. */
export class TaskBoard {
	query = new Query<Schema<'BoardOut'>>();

	follow(): () => void {
		this.load();
		return reloadOn(TASK_CHANGES, () => this.load());
	}

	load(): void {
		void this.query.run(() => unwrap(api.GET('/api/tasks', { params: { query: { ended: 50 } } })));
	}
}

/** One task, and what it changed. */
export class TaskState {
	query = new Query<Task>();
	diff = new Query<string>();
	busy = $state(false);
	#request = new RetryingRequest();

	constructor(readonly taskId: string) {}

	get task(): Task | null {
		return this.query.data;
	}

	get #params() {
		return { path: { task_id: this.taskId } };
	}

	/** Load it, and reload when it changes. Returns a function that unsubscribes. */
	follow(): () => void {
		this.load();
		return reloadOn(TASK_CHANGES, () => this.load());
	}

	load(): void {
		void this.query.run(() => unwrap(api.GET('/api/tasks/{task_id}', { params: this.#params })));
	}

	loadDiff(): void {
		void this.diff.run(async () => (await unwrap(api.GET('/api/tasks/{task_id}/diff', { params: this.#params }))).diff);
	}

	start = (skip_plan = false): Promise<boolean> =>
		this.#change((body) => api.POST('/api/tasks/{task_id}/start', { params: this.#params, body: { ...body, skip_plan } }), { start: skip_plan });
	dismiss = (): Promise<boolean> => this.#change((body) => api.POST('/api/tasks/{task_id}/dismiss', { params: this.#params, body }), 'dismiss');
	retry = (): Promise<boolean> => this.#change((body) => api.POST('/api/tasks/{task_id}/retry', { params: this.#params, body }), 'retry');
	cancel = (): Promise<boolean> => this.#change((body) => api.POST('/api/tasks/{task_id}/cancel', { params: this.#params, body }), 'cancel');

	/** Send the agent a message while it works. */
	steer = (text: string): Promise<boolean> =>
		this.#change((body) => api.POST('/api/tasks/{task_id}/messages', { params: this.#params, body: { ...body, text } }), { text });

	#change(send: (body: { request_id: string }) => Promise<{ data?: Task; error?: unknown; response: Response }>, what: unknown): Promise<boolean> {
		return this.#busyWhile(async () => {
			this.query.data = await this.#request.send({ what, task: this.taskId }, (request_id) => unwrap(send({ request_id })));
		});
	}

	async #busyWhile(action: () => Promise<unknown>): Promise<boolean> {
		this.busy = true;
		const done = await tryAction(action);
		this.busy = false;
		return done;
	}
}
