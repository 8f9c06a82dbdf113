/** What is being written: a text and files. The text survives a reload. */
import { api, problemOf, told, type Problem } from '$lib/api/client';
import { keep, kept } from '$lib/browser/local-storage';
import type { Attachment, Message } from '../types';

export type Piece = { key: number; name: string; kept: Attachment | null; preview: string };

const FILES_MAX = 20;

export class Composer {
	text = $state('');
	pieces = $state<Piece[]>([]);
	problem = $state<Problem | null>(null);
	editing = $state.raw<Message | null>(null);
	#key: string;
	#next = 0;
	#before = '';

	constructor(threadId: string) {
		this.#key = `draft.${threadId}`;
		this.text = kept(this.#key) ?? '';
	}

	get busy(): boolean {
		return this.pieces.some((piece) => !piece.kept);
	}

	get ready(): boolean {
		return !this.busy && (this.text.trim() !== '' || this.pieces.length > 0);
	}

	/** Keep what is written; called as it changes. */
	keep(): void {
		if (!this.editing) keep(this.#key, this.text || null);
	}

	/** Take everything out, to be sent. */
	take(): { text: string; attachments: Attachment[]; editing: string } {
		const attachments = this.pieces.flatMap((piece) => (piece.kept ? [piece.kept] : []));
		const letter = { text: this.text.trim(), attachments, editing: this.editing?.message_id ?? '' };
		for (const piece of this.pieces) if (piece.preview) URL.revokeObjectURL(piece.preview);
		this.pieces = [];
		this.text = this.editing ? this.#before : '';
		this.editing = null;
		this.keep();
		return letter;
	}

	/** Write a message anew; what was being written comes back afterwards. */
	edit(message: Message): void {
		if (!this.editing) this.#before = this.text;
		this.editing = message;
		this.text = message.text;
		this.pieces = message.attachments.map((kept) => ({ key: this.#next++, name: kept.name, kept, preview: '' }));
	}

	cancelEdit(): void {
		this.editing = null;
		this.text = this.#before;
		this.pieces = [];
	}

	/** Take files in: each is kept by the engine at once, so sending costs nothing more. */
	async attach(files: Iterable<File>): Promise<void> {
		this.problem = null;
		await Promise.all([...files].slice(0, FILES_MAX - this.pieces.length).map((file) => this.#attach(file)));
	}

	drop(key: number): void {
		this.pieces = this.pieces.filter((piece) => piece.key !== key);
	}

	async #attach(file: File): Promise<void> {
		const key = this.#next++;
		const preview = file.type.startsWith('image/') ? URL.createObjectURL(file) : '';
		this.pieces.push({ key, name: file.name || 'picture', kept: null, preview });
		try {
			const kept = await told(
				api.PUT('/api/files', {
					params: { query: { name: file.name || 'picture' } },
					headers: { 'Content-Type': file.type || 'application/octet-stream' },
					bodySerializer: () => file,
					body: file as never
				} as never)
			);
			this.pieces = this.pieces.map((piece) =>
				piece.key === key ? { ...piece, kept: kept as Attachment } : piece
			);
		} catch (error) {
			this.drop(key);
			this.problem = problemOf(error);
		}
	}
}
