/** Imports of conversations: upload, progress, cancel, resume and undo. */
import { keyHeaders } from '$lib/api/device-key.svelte';
import { api, toApiError, unreachable, unwrap, type ApiError, type Schema } from '$lib/api/client';
import { readLocal, writeLocal } from '$lib/browser/local-storage';
import { Query } from '$lib/live/query.svelte';
import { reloadOn } from '$lib/live/reload-on';
import { retract } from '$lib/api/retract';
import { retractAndNotify } from '$lib/memory/item/memory-item.svelte';
import { toasts } from '$lib/ui';
import { tryAction } from '$lib/ui/feedback/try-action';

export type PastImport = Schema<'PastImportOut'>;
export type ImportState = Schema<'ImportStateOut'>;

const POLL_MS = 500;
const SENT_KEY = 'imports'; // uploads of this device: a queued import has no facts in the log yet
const SENT_MAX = 20;

/** Whether an import is queued or in progress. */
export const isRunning = (job: ImportState): boolean => job.state === 'waiting' || job.state === 'running';

class Imports {
	past = new Query<PastImport[]>();
	/** How much of the file is uploaded, from 0 to 1; null if nothing is being uploaded. */
	uploaded = $state<number | null>(null);
	/** The imports that this server has worked on since it started, newest first. */
	jobs = $state<ImportState[]>([]);
	error = $state<ApiError | null>(null);
	/** The import that would be undone, and what would go with it. */
	undoing = $state.raw<{ past: PastImport; impact: Schema<'ImpactOut'> | null } | null>(null);
	#timer: ReturnType<typeof setTimeout> | undefined;
	#followed = false;

	/** Load past imports and poll running ones. Returns a function that stops. */
	follow(): () => void {
		this.#followed = true;
		this.load();
		void Promise.all(sentIds().map((id) => this.#refresh(id, true))).then(() => this.#poll());
		const unsubscribe = reloadOn(/^thread\.import_/, () => this.load());
		return () => {
			this.#followed = false;
			clearTimeout(this.#timer);
			unsubscribe();
		};
	}

	load(): void {
		void this.past.run(async () => {
			const past = await unwrap(api.GET('/api/imports'));
			await Promise.all(past.filter((one) => this.#isUnknown(one)).map((one) => this.#refresh(one.import_id, true)));
			this.#pollSoon();
			return past;
		});
	}

	/** The state of an import, if the server knows it. */
	find(importId: string): ImportState | undefined {
		return this.jobs.find((job) => job.import_id === importId);
	}

	async upload(file: File, intoHome: boolean): Promise<void> {
		[this.uploaded, this.error] = [0, null];
		try {
			const started = await this.#send(file, intoHome);
			this.#put(started);
			writeLocal(SENT_KEY, [started.import_id, ...sentIds()].slice(0, SENT_MAX).join(' '));
			this.#pollSoon();
		} catch (error) {
			this.error = toApiError(error);
		} finally {
			this.uploaded = null;
		}
	}

	/** Cancel an import after its current batch. Messages imported so far are kept. */
	async cancel(importId: string): Promise<void> {
		await this.#try(async () => {
			await unwrap(api.DELETE('/api/imports/{import_id}', { params: { path: { import_id: importId } } }));
		});
	}

	/** Resume an import that failed or was cancelled. */
	async resume(importId: string): Promise<void> {
		await this.#try(async () => {
			this.#put(await unwrap(api.POST('/api/imports/{import_id}/resume', { params: { path: { import_id: importId } } })));
			this.#pollSoon();
		});
	}

	/** Ask for confirmation before an import is undone, with a preview of what would be removed. */
	async requestUndo(past: PastImport): Promise<void> {
		this.undoing = { past, impact: null };
		await tryAction(async () => {
			const impact = await unwrap(api.GET('/api/retractions/{position}', { params: { path: { position: past.position } } }));
			if (this.undoing?.past === past) this.undoing = { past, impact };
		});
	}

	/** Remove everything that an import added. That can be undone, and it can be imported again. */
	async undo(past: PastImport): Promise<void> {
		this.undoing = null;
		const undone = await tryAction(async () => {
			const position = await retract(past.position, true);
			const restore = () => void retractAndNotify(position, '', `${past.name} is back.`).then(() => this.load());
			toasts.show(`Import of ${past.name} undone.`, { label: 'Restore', run: restore });
		});
		if (!undone) return;
		if (this.find(past.import_id)?.state === 'broken off') await this.cancel(past.import_id); // deletes the uploaded file, too
		this.#remove(past.import_id);
		this.load();
	}

	/** Whether the list contains an import whose state is not known here yet. */
	#isUnknown(past: PastImport): boolean {
		const job = this.find(past.import_id);
		return past.under_way ? !job || !isRunning(job) : !past.ended && !job;
	}

	#put(state: ImportState): void {
		if (this.find(state.import_id)) this.jobs = this.jobs.map((job) => (job.import_id === state.import_id ? state : job));
		else this.jobs = [state, ...this.jobs];
	}

	#remove(importId: string): void {
		this.jobs = this.jobs.filter((job) => job.import_id !== importId);
		writeLocal(SENT_KEY, sentIds().filter((id) => id !== importId).join(' ') || null);
	}

	#pollSoon(): void {
		clearTimeout(this.#timer);
		if (this.#followed && this.jobs.some(isRunning)) this.#timer = setTimeout(() => void this.#poll(), POLL_MS);
	}

	/** Refresh running imports, and again until all have ended. */
	async #poll(): Promise<void> {
		const running = this.jobs.filter(isRunning);
		await Promise.all(running.map((job) => this.#refresh(job.import_id, false)));
		if (running.length > this.jobs.filter(isRunning).length) this.load();
		this.#pollSoon();
	}

	/** Refresh the state of an import. Unless `add` is set, one that was undone meanwhile is not added again. */
	async #refresh(importId: string, add: boolean): Promise<void> {
		const params = { path: { import_id: importId } };
		try {
			const state = await unwrap(api.GET('/api/imports/{import_id}', { params }));
			if (add || this.find(importId)) this.#put(state);
		} catch (error) {
			if (toApiError(error).status === 404) this.#remove(importId); // the server was restarted; the list shows the result
		}
	}

	async #try(action: () => Promise<void>): Promise<void> {
		if (!(await tryAction(action))) this.load();
	}

	/** With XMLHttpRequest, because fetch reports no upload progress. */
	#send(file: File, intoHome: boolean): Promise<ImportState> {
		return new Promise((resolve, reject) => {
			const request = new XMLHttpRequest();
			const query = new URLSearchParams({ name: file.name, home: String(intoHome), wait: 'false' });
			request.open('POST', `/api/imports?${query}`);
			request.setRequestHeader('content-type', 'application/octet-stream');
			for (const [name, value] of Object.entries(keyHeaders())) request.setRequestHeader(name, value);
			request.responseType = 'json';
			request.upload.onprogress = (event) => (this.uploaded = event.total ? event.loaded / event.total : 0);
			request.onload = () => {
				if (request.status === 202) resolve(request.response as ImportState);
				else reject(toApiError(request.response, request.status));
			};
			request.onerror = () => reject(unreachable('Import the file again: duplicates are skipped.'));
			request.send(file);
		});
	}
}

/** The ids of recent uploads of this device, newest first. */
function sentIds(): string[] {
	return (readLocal(SENT_KEY) ?? '').split(' ').filter(Boolean);
}

/** One instance for all pages, so that an upload goes on while another page is shown. */
export const imports = new Imports();
