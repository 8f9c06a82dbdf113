/**
 * What was written and is not confirmed yet. It is kept on the device, so neither a reload nor a lost connection loses it, and the id that
 * it carries makes the engine take it once, however often it is sent.
 */
import { api, problemOf, told, type Problem } from '$lib/api/client';
import { keep, kept } from '$lib/browser/local-storage';
import { newId } from '$lib/browser/random-id';
import type { Attachment, Letter } from '../types';

export class Outbox {
	letters = $state<Letter[]>([]);
	problem = $state<Problem | null>(null);
	#key: string;
	#threadId: string;
	#busy = false;

	constructor(threadId: string) {
		this.#threadId = threadId;
		this.#key = `outbox.${threadId}`;
		this.letters = lettersIn(kept(this.#key) ?? '[]');
	}

	/** Say something; `editing` is the message in whose place it stands. */
	async say(text: string, attachments: Attachment[], editing = ''): Promise<void> {
		const letterId = newId();
		const writtenAt = new Date().toISOString();
		this.letters.push({ letterId, text, attachments, writtenAt, editing });
		this.#keep();
		await this.send();
	}

	/** Send what waits, in order. What cannot be sent now stays. */
	async send(): Promise<void> {
		if (this.#busy) return;
		this.#busy = true;
		try {
			for (const letter of [...this.letters]) {
				await this.#post(letter);
				this.arrived(`msg-${letter.letterId}`);
			}
			this.problem = null;
		} catch (error) {
			this.problem = problemOf(error);
		} finally {
			this.#busy = false;
		}
	}

	/** The engine has it. */
	arrived(messageId: string): void {
		const left = this.letters.filter((letter) => `msg-${letter.letterId}` !== messageId);
		if (left.length === this.letters.length) return;
		this.letters = left;
		this.#keep();
	}

	/** Not to be sent after all; what it said. */
	take(letterId: string): Letter | undefined {
		const letter = this.letters.find((one) => one.letterId === letterId);
		this.arrived(`msg-${letterId}`);
		this.problem = null;
		return letter;
	}

	async #post({ letterId, text, attachments, editing }: Letter): Promise<void> {
		const body = { text, attachments, letter_id: letterId };
		if (editing) {
			const path = { message_id: editing };
			await told(api.POST('/api/messages/{message_id}/edit', { params: { path }, body }));
		} else {
			const path = { thread_id: this.#threadId };
			await told(api.POST('/api/threads/{thread_id}/messages', { params: { path }, body }));
		}
	}

	#keep(): void {
		keep(this.#key, JSON.stringify(this.letters));
	}
}

function lettersIn(text: string): Letter[] {
	try {
		return JSON.parse(text) as Letter[];
	} catch {
		return [];
	}
}
