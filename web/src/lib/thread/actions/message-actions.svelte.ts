/** Actions on a message, and the confirmation that some of them need. */
import { api, unwrap, type Schema } from '$lib/api/client';
import { retract } from '$lib/api/retract';
import { RetryingRequest } from '$lib/api/retrying-request';
import { copyText } from '$lib/browser/clipboard';
import { toasts } from '$lib/ui';
import { tryAction } from '$lib/ui/feedback/try-action';
import type { Message } from '../types';

type Confirmation = { action: 'rewind' | 'retract'; message: Message; impact: Schema<'ImpactOut'> | null };

export class MessageActions {
	/** The open confirmation, with what the action would change. */
	confirmation = $state.raw<Confirmation | null>(null);
	/** The answer whose sources are shown. */
	inspected = $state.raw<Message | null>(null);
	/** The answer for which another model is to be chosen. */
	askingAgain = $state.raw<Message | null>(null);
	/** The message that is being edited. */
	editing = $state.raw<Message | null>(null);
	#request = new RetryingRequest();

	constructor(readonly threadId: string) {}

	copy(message: Message): Promise<boolean> {
		return copyText(message.text, 'Copied.');
	}

	regenerate(message: Message, options: Partial<Schema<'Options'>> = {}): Promise<boolean> {
		return tryAction(async () => {
			const path = { message_id: message.message_id };
			const wanted = { model: '', temperature: null, tokens_max: 0, ...options };
			await this.#request.send({ regenerate: path, wanted }, (request_id) =>
				unwrap(api.POST('/api/messages/{message_id}/again', { params: { path }, body: { request_id, options: wanted } }))
			);
		});
	}

	/** Ask for the rest of an answer that ended at its length limit. */
	continueAnswer(message: Message): Promise<boolean> {
		return tryAction(async () => {
			const path = { message_id: message.message_id };
			await this.#request.send({ continue: path }, (request_id) =>
				unwrap(api.POST('/api/messages/{message_id}/continue', { params: { path }, body: { request_id } }))
			);
		});
	}

	stop(turnId: string): Promise<boolean> {
		return tryAction(async () => {
			await unwrap(api.POST('/api/turns/{turn_id}/stop', { params: { path: { turn_id: turnId } } }));
		});
	}

	switchBranch(branch: string): Promise<boolean> {
		return tryAction(async () => {
			const path = { thread_id: this.threadId };
			await this.#request.send({ branch }, (request_id) =>
				unwrap(api.POST('/api/threads/{thread_id}/branch', { params: { path }, body: { branch, request_id } }))
			);
		});
	}

	hide(message: Message, hidden: boolean): Promise<boolean> {
		return tryAction(async () => {
			const path = { message_id: message.message_id };
			await this.#request.send({ hidden, path }, (request_id) =>
				unwrap(api.PUT('/api/messages/{message_id}/hidden', { params: { path }, body: { hidden, request_id } }))
			);
			if (!hidden) return;
			const undo = { label: 'Undo', run: () => void this.hide(message, false) };
			toasts.show('Hidden here and from the model.', undo);
		});
	}

	/** Ask for confirmation before rewinding or deleting, with a preview of what would change. */
	requestConfirmation(action: Confirmation['action'], message: Message): Promise<boolean> {
		this.confirmation = { action, message, impact: null };
		return tryAction(async () => {
			const path = { message_id: message.message_id };
			const impact =
				action === 'rewind'
					? await unwrap(api.GET('/api/messages/{message_id}/rewind', { params: { path } }))
					: await unwrap(api.GET('/api/messages/{message_id}/retraction', { params: { path } }));
			if (this.confirmation?.message === message) this.confirmation = { action, message, impact };
		});
	}

	/** Run the confirmed action. */
	confirm(): void {
		const { confirmation } = this;
		this.confirmation = null;
		if (confirmation) void (confirmation.action === 'rewind' ? this.rewind(confirmation.message) : this.#retract(confirmation.message));
	}

	/** Continue right after a message; later messages stay on their branch. */
	rewind(message: Message, confirmation = 'Rewound to this message.'): Promise<boolean> {
		return tryAction(async () => {
			const path = { message_id: message.message_id };
			const switched = await this.#request.send({ rewind: path }, (request_id) =>
				unwrap(api.POST('/api/messages/{message_id}/rewind', { params: { path }, body: { request_id } }))
			);
			toasts.show(confirmation, { label: 'Undo', run: () => void this.switchBranch(switched.before) });
		});
	}

	#retract(message: Message): Promise<boolean> {
		return tryAction(async () => {
			const params = { path: { message_id: message.message_id } };
			const done = await this.#request.send({ retract: params }, (request_id) =>
				unwrap(api.POST('/api/messages/{message_id}/retraction', { params, body: { reason: '', request_id } }))
			);
			const undo = { label: 'Undo', run: () => void this.#undo(done.position) };
			toasts.show('Deleted, along with everything derived from it.', undo);
		});
	}

	#undo(position: number): Promise<boolean> {
		return tryAction(() => retract(position, false));
	}
}
