/**
 * Messages that the server has not confirmed yet, of all conversations. They are kept in this browser, so neither a reload nor a lost
 * connection loses them, and each carries an id, so that the server records it once, however often it is sent.
 */
import { api, toApiError, unwrap, type ApiError, type Schema } from '$lib/api/client';
import { readOffline, updateOffline } from '$lib/browser/offline-store';
import { newId } from '$lib/browser/random-id';
import type { Attachment, OutgoingMessage } from '../types';

export const OUTBOX_KEY = 'outbox';
const AS_CONFIGURED = { model: '', temperature: null, tokens_max: 0 };

class Outbox {
	outgoing = $state.raw<OutgoingMessage[]>([]);
	/** Why a message could not be sent, by its id. */
	errors = $state.raw<Record<string, ApiError>>({});
	#loading: Promise<void> | null = null;
	#sending = false;
	#again = false;

	/** The messages of one conversation. */
	of(threadId: string): OutgoingMessage[] {
		return this.outgoing.filter((message) => message.threadId === threadId);
	}

	/** Add a message and send it; `editing` is the id of the message that it replaces. */
	async add(threadId: string, written: { text: string; attachments: Attachment[]; editing: string }, options?: Schema<'Options'>): Promise<void> {
		await this.#load();
		const writtenAt = new Date().toISOString();
		// A plain copy: the store can hold no reactive object.
		const message = $state.snapshot({ threadId, letterId: newId(), writtenAt, ...written, ...(options ? { options } : {}) });
		await this.#change((before) => [...before, message]);
		await this.send();
	}

	/** Send all messages in order. Those that cannot be sent stay. */
	async send(): Promise<void> {
		await this.#load();
		if (this.#sending) {
			this.#again = true;
			return;
		}
		this.#sending = true;
		do {
			this.#again = false;
			await this.#sendAll();
		} while (this.#again);
		this.#sending = false;
	}

	/** The server has recorded this message. */
	async confirm(messageId: string): Promise<void> {
		if (!this.outgoing.some((message) => `msg-${message.letterId}` === messageId)) return;
		await this.#change((before) => before.filter((message) => `msg-${message.letterId}` !== messageId));
	}

	/** Remove a message without sending it, and return it. */
	async remove(letterId: string): Promise<OutgoingMessage | undefined> {
		const message = this.outgoing.find((one) => one.letterId === letterId);
		await this.confirm(`msg-${letterId}`);
		return message;
	}

	/** Show nothing more: this device is signed out. What the store keeps is loaded again after signing in. */
	forget(): void {
		this.outgoing = [];
		this.errors = {};
		this.#loading = null;
	}

	/** One after the other. Without a connection it stops; a message that is refused does not hold up the others. */
	async #sendAll(): Promise<void> {
		for (const message of this.outgoing) {
			try {
				await this.#post(message);
				await this.confirm(`msg-${message.letterId}`);
			} catch (error) {
				const failure = toApiError(error);
				this.errors = { ...this.errors, [message.letterId]: failure };
				if (failure.unreached) return this.#failAll(failure);
			}
		}
	}

	#failAll(failure: ApiError): void {
		this.errors = Object.fromEntries(this.outgoing.map(({ letterId }) => [letterId, this.errors[letterId] ?? failure]));
	}

	async #post({ threadId, letterId, text, attachments, editing, options }: OutgoingMessage): Promise<void> {
		const { [letterId]: _, ...others } = this.errors;
		this.errors = others;
		const body = { text, attachments, letter_id: letterId, options: options ?? AS_CONFIGURED };
		if (editing) {
			const path = { message_id: editing };
			await unwrap(api.POST('/api/messages/{message_id}/edit', { params: { path }, body }));
		} else {
			const path = { thread_id: threadId };
			await unwrap(api.POST('/api/threads/{thread_id}/messages', { params: { path }, body }));
		}
	}

	#load(): Promise<void> {
		this.#loading ??= readOffline<OutgoingMessage[]>(OUTBOX_KEY).then((stored) => {
			const known = new Set(this.outgoing.map((message) => message.letterId));
			this.outgoing = [...(stored ?? []).filter((message) => !known.has(message.letterId)), ...this.outgoing];
		});
		return this.#loading;
	}

	/** Change the list here and in the store, where another tab may have changed it meanwhile. */
	async #change(change: (before: OutgoingMessage[]) => OutgoingMessage[]): Promise<void> {
		this.outgoing = change(this.outgoing);
		await updateOffline<OutgoingMessage[]>(OUTBOX_KEY, (stored) => change(stored ?? []));
	}
}

/** One for all pages, so that a message is sent whatever page is open when the connection is back. */
export const outbox = new Outbox();
