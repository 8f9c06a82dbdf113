/** Imports files into the library: cards, lorebooks, chats, SillyTavern folders (zip) and exports of worlds. First a preview, then the import. */
import { keyHeaders } from '$lib/api/device-key.svelte';
import { toApiError, type ApiError, type Schema } from '$lib/api/client';
import { retract } from '$lib/api/retract';
import { api, unwrap } from '$lib/api/client';
import { toasts } from '$lib/ui';
import { toActionError, tryAction } from '$lib/ui/feedback/try-action';

export type WorldImport = Schema<'WorldImportOut'>;
export type ImportPreview = Schema<'ImportPreviewOut'>;

export class WorldImporter {
	busy = $state(false);
	error = $state<ApiError | null>(null);
	/** What the import of the chosen file would come to, until it is confirmed. */
	preview = $state.raw<ImportPreview | null>(null);
	/** What the last import came to, until it is closed. */
	result = $state.raw<WorldImport | null>(null);
	#file: File | null = null;
	#cast: string[] = [];

	/** Look at a file; where more than two characters speak, `cast` names those who play. */
	async look(file: File | null = this.#file, cast: string[] = []): Promise<void> {
		if (!file) return;
		[this.#file, this.#cast] = [file, cast];
		await this.#send('/api/world-imports/preview', (body) => (this.preview = body as ImportPreview));
	}

	/** Import what was looked at. */
	async confirm(): Promise<void> {
		await this.#send('/api/world-imports', (body) => {
			[this.preview, this.result] = [null, body as WorldImport];
		});
	}

	async #send(address: string, take: (body: unknown) => void): Promise<void> {
		const file = this.#file;
		if (!file) return;
		[this.busy, this.error] = [true, null];
		try {
			const query = new URLSearchParams([['name', file.name], ...this.#cast.map((name) => ['cast', name])]);
			const headers = { 'content-type': 'application/octet-stream', ...keyHeaders() };
			const answer = await fetch(`${address}?${query}`, { method: 'POST', body: file, headers });
			const body = (await answer.json()) as unknown;
			if (!answer.ok) throw toApiError(body, answer.status);
			if (this.#file === file) take(body);
		} catch (error) {
			this.error = toActionError(error);
		} finally {
			this.busy = false;
		}
	}

	close(): void {
		[this.preview, this.result, this.error, this.#file, this.#cast] = [null, null, null, null, []];
	}

	/** Take everything back that an import brought. */
	async undo(): Promise<void> {
		const done = this.result;
		if (!done) return;
		const path = { import_id: done.import_id };
		const undone = await tryAction(async () => {
			const { position } = await unwrap(api.POST('/api/world-imports/{import_id}/undo', { params: { path } }));
			toasts.show(`Import of ${done.name} undone.`, { label: 'Restore', run: () => void tryAction(() => retract(position, false)) });
		});
		if (undone) this.close();
	}
}
