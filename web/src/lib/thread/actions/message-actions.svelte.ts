/** What a person can do with a message, and what is asked before. */
import { api, told, type Shape } from '$lib/api/client';
import { Attempts } from '$lib/api/retrying-request';
import { copy } from '$lib/browser/clipboard';
import { retract } from '$lib/api/retract';
import { tried } from '$lib/ui/feedback/try-action';
import { toasts } from '$lib/ui';
import type { Message } from '../types';

type Asked = { way: 'rewind' | 'retract'; message: Message; impact: Shape<'ImpactOut'> | null };

export class Acts {
	/** The question that is open, with what its answer would change. */
	asked = $state.raw<Asked | null>(null);
	/** The answer whose prompt is open. */
	inspected = $state.raw<Message | null>(null);
	/** The message that is written anew. */
	editing = $state.raw<Message | null>(null);
	#attempts = new Attempts();

	constructor(readonly threadId: string) {}

	copy(message: Message): Promise<boolean> {
		return copy(message.text, 'Copied.');
	}

	again(message: Message): Promise<boolean> {
		return tried(async () => {
			const path = { message_id: message.message_id };
			await this.#attempts.make({ again: path }, (request_id) =>
				told(api.POST('/api/messages/{message_id}/again', { params: { path }, body: { request_id } }))
			);
		});
	}

	stop(turnId: string): Promise<boolean> {
		return tried(async () => {
			await told(api.POST('/api/turns/{turn_id}/stop', { params: { path: { turn_id: turnId } } }));
		});
	}

	stand(branch: string): Promise<boolean> {
		return tried(async () => {
			const path = { thread_id: this.threadId };
			await this.#attempts.make({ branch }, (request_id) =>
				told(api.POST('/api/threads/{thread_id}/branch', { params: { path }, body: { branch, request_id } }))
			);
		});
	}

	hide(message: Message, hidden: boolean): Promise<boolean> {
		return tried(async () => {
			const path = { message_id: message.message_id };
			await this.#attempts.make({ hidden, path }, (request_id) =>
				told(api.PUT('/api/messages/{message_id}/hidden', { params: { path }, body: { hidden, request_id } }))
			);
			if (!hidden) return;
			const undo = { label: 'Undo', does: () => void this.hide(message, false) };
			toasts.say('Hidden, here and from prompts.', undo);
		});
	}

	/** Ask before going back or taking back, with a preview of what it would change. */
	ask(way: Asked['way'], message: Message): Promise<boolean> {
		this.asked = { way, message, impact: null };
		return tried(async () => {
			const path = { message_id: message.message_id };
			const impact =
				way === 'rewind'
					? await told(api.GET('/api/messages/{message_id}/rewind', { params: { path } }))
					: await told(api.GET('/api/messages/{message_id}/retraction', { params: { path } }));
			if (this.asked?.message === message) this.asked = { way, message, impact };
		});
	}

	/** Do what was asked about. */
	confirm(): void {
		const { asked } = this;
		this.asked = null;
		if (asked) void (asked.way === 'rewind' ? this.rewind(asked.message) : this.#retract(asked.message));
	}

	/** Go on from right after a message; what came later stays on its branch. */
	rewind(message: Message, words = 'You are back at this message.'): Promise<boolean> {
		return tried(async () => {
			const path = { message_id: message.message_id };
			const gone = await this.#attempts.make({ rewind: path }, (request_id) =>
				told(api.POST('/api/messages/{message_id}/rewind', { params: { path }, body: { request_id } }))
			);
			toasts.say(words, { label: 'Undo', does: () => void this.stand(gone.before) });
		});
	}

	#retract(message: Message): Promise<boolean> {
		return tried(async () => {
			const params = { path: { message_id: message.message_id } };
			const done = await this.#attempts.make({ retract: params }, (request_id) =>
				told(api.POST('/api/messages/{message_id}/retraction', { params, body: { reason: '', request_id } }))
			);
			const undo = { label: 'Undo', does: () => void this.#undo(done.position) };
			toasts.say('Taken back, with all that came from it.', undo);
		});
	}

	#undo(position: number): Promise<boolean> {
		return tried(() => retract(position, false));
	}
}
