/**
 * Messages that the server has not confirmed yet. They are kept in this browser, so neither a reload nor a lost connection loses them,
 * and each carries an id, so that the server records it once, however often it is sent.
 */
import { api, toApiError, unwrap, type ApiError } from '$lib/api/client';
import { readLocal, writeLocal } from '$lib/browser/local-storage';
import { newId } from '$lib/browser/random-id';
import type { Attachment, OutgoingMessage } from '../types';

export class Outbox {
	outgoing = $state<OutgoingMessage[]>([]);
	error = $state<ApiError | null>(null);
	#key: string;
	#threadId: string;
	#sending = false;

	constructor(threadId: string) {
		this.#threadId = threadId;
		this.#key = `outbox.${threadId}`;
		this.outgoing = parse(readLocal(this.#key) ?? '[]');
	}

	/** Add a message and send it; `editing` is the id of the message that it replaces. */
	async add(text: string, attachments: Attachment[], editing = ''): Promise<void> {
		const letterId = newId();
		const writtenAt = new Date().toISOString();
		this.outgoing.push({ letterId, text, attachments, writtenAt, editing });
		this.#save();
		await this.send();
	}

	/** Send all messages in order. Those that cannot be sent stay. */
	async send(): Promise<void> {
		if (this.#sending) return;
		this.#sending = true;
		try {
			for (const message of [...this.outgoing]) {
				await this.#post(message);
				this.confirm(`msg-${message.letterId}`);
			}
			this.error = null;
		} catch (error) {
			this.error = toApiError(error);
		} finally {
			this.#sending = false;
		}
	}

	/** The server has recorded this message. */
	confirm(messageId: string): void {
		const left = this.outgoing.filter((message) => `msg-${message.letterId}` !== messageId);
		if (left.length === this.outgoing.length) return;
		this.outgoing = left;
		this.#save();
	}

	/** Remove a message without sending it, and return it. */
	remove(letterId: string): OutgoingMessage | undefined {
		const message = this.outgoing.find((one) => one.letterId === letterId);
		this.confirm(`msg-${letterId}`);
		this.error = null;
		return message;
	}

	async #post({ letterId, text, attachments, editing }: OutgoingMessage): Promise<void> {
		const body = { text, attachments, letter_id: letterId };
		if (editing) {
			const path = { message_id: editing };
			await unwrap(api.POST('/api/messages/{message_id}/edit', { params: { path }, body }));
		} else {
			const path = { thread_id: this.#threadId };
			await unwrap(api.POST('/api/threads/{thread_id}/messages', { params: { path }, body }));
		}
	}

	#save(): void {
		writeLocal(this.#key, JSON.stringify(this.outgoing));
	}
}

function parse(text: string): OutgoingMessage[] {
	try {
		return JSON.parse(text) as OutgoingMessage[];
	} catch {
		return [];
	}
}
