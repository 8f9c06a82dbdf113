/** “Call me when it is done”: whether the user is called about a task, and asking for it. */
import { api, unwrap, type Schema } from '$lib/api/client';
import { Query } from '$lib/live/query.svelte';
import { reloadOn } from '$lib/live/reload-on';
import { tryAction } from '$lib/ui/feedback/try-action';

export class Callback {
	query = new Query<Schema<'VoiceOut'>>();
	busy = $state(false);
	readonly #subject: string;

	constructor(taskId: string) {
		this.#subject = `task:${taskId}`;
	}

	/** Whether the telephone is configured. */
	get available(): boolean {
		return this.query.data?.configured ?? false;
	}

	/** Whether the user will be called about the task. */
	get wanted(): boolean {
		return this.query.data?.callbacks.includes(this.#subject) ?? false;
	}

	/** Load it, and reload when a call is asked for, cancelled or begun. Returns a function that unsubscribes. */
	follow(): () => void {
		this.load();
		return reloadOn(/^voice\.callback_/, () => this.load());
	}

	load(): void {
		void this.query.run(() => unwrap(api.GET('/api/voice')));
	}

	/** Ask for the call, or cancel it. */
	async toggle(): Promise<void> {
		if (this.busy) return;
		this.busy = true;
		const params = { path: { subject: this.#subject } };
		const send = () =>
			this.wanted
				? api.DELETE('/api/voice/callbacks/{subject}', { params })
				: api.PUT('/api/voice/callbacks/{subject}', { params, body: { request_id: '' } });
		await tryAction(async () => (this.query.data = await unwrap<Schema<'VoiceOut'>>(send())));
		this.busy = false;
	}
}
