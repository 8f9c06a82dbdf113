/** The message being written: text and attached files. The text survives a reload. */
import { api, ApiError, toApiError, unwrap, type Schema } from '$lib/api/client';
import { readLocal, writeLocal } from '$lib/browser/local-storage';
import type { Attachment, Message } from '../types';

/** `problem` says why the model cannot read it, `cut` that it reads only the beginning. */
export type DraftFile = { key: number; name: string; uploaded: Attachment | null; preview: string; problem: string; cut: boolean };

const FILES_MAX = 20;

/** Without a connection a file is not kept, unlike the text: it says so. */
function attachError(name: string, failure: ApiError): ApiError {
	if (!failure.unreached) return failure;
	return new ApiError(`No connection: ${name || 'the picture'} is not attached.`, 'Attach it again when you are back online.', failure.status);
}

export class Draft {
	text = $state('');
	files = $state<DraftFile[]>([]);
	error = $state<ApiError | null>(null);
	editing = $state.raw<Message | null>(null);
	#key: string;
	#nextKey = 0;
	#textBeforeEdit = '';

	constructor(threadId: string) {
		this.#key = `draft.${threadId}`;
		this.text = readLocal(this.#key) ?? '';
	}

	get busy(): boolean {
		return this.files.some((file) => !file.uploaded);
	}

	get ready(): boolean {
		return !this.busy && (this.text.trim() !== '' || this.files.length > 0);
	}

	/** Save the text in this browser; called as it changes. */
	save(): void {
		if (!this.editing) writeLocal(this.#key, this.text || null);
	}

	/** Empty the draft and return its content, to be sent. */
	take(): { text: string; attachments: Attachment[]; editing: string } {
		const attachments = this.files.flatMap((file) => (file.uploaded ? [file.uploaded] : []));
		const sending = { text: this.text.trim(), attachments, editing: this.editing?.message_id ?? '' };
		for (const file of this.files) if (file.preview) URL.revokeObjectURL(file.preview);
		this.files = [];
		this.text = this.editing ? this.#textBeforeEdit : '';
		this.editing = null;
		this.save();
		return sending;
	}

	/** Edit a sent message; the current text comes back afterwards. */
	edit(message: Message): void {
		if (!this.editing) this.#textBeforeEdit = this.text;
		this.editing = message;
		this.text = message.text;
		this.files = message.attachments.map((uploaded) => ({ ...this.#newFile(uploaded.name, ''), uploaded }));
	}

	cancelEdit(): void {
		this.editing = null;
		this.text = this.#textBeforeEdit;
		this.files = [];
	}

	/** Attach files. Each is uploaded at once, so that sending is fast. */
	async attach(files: Iterable<File>): Promise<void> {
		this.error = null;
		await Promise.all([...files].slice(0, FILES_MAX - this.files.length).map((file) => this.#attach(file)));
	}

	removeFile(key: number): void {
		this.files = this.files.filter((file) => file.key !== key);
	}

	#newFile(name: string, preview: string): DraftFile {
		return { key: this.#nextKey++, name, uploaded: null, preview, problem: '', cut: false };
	}

	async #attach(file: File): Promise<void> {
		const key = this.#nextKey++;
		const preview = file.type.startsWith('image/') ? URL.createObjectURL(file) : '';
		this.files.push({ ...this.#newFile(file.name || 'picture', preview), key });
		try {
			const { problem, cut, ...uploaded } = (await unwrap(
				api.PUT('/api/files', {
					params: { query: { name: file.name || 'picture' } },
					headers: { 'Content-Type': file.type || 'application/octet-stream' },
					bodySerializer: () => file,
					body: file as never
				} as never)
			)) as Schema<'StoredFileOut'>;
			this.files = this.files.map((one) => (one.key === key ? { ...one, uploaded, problem, cut } : one));
		} catch (error) {
			this.removeFile(key);
			this.error = attachError(file.name, toApiError(error));
		}
	}
}
