/** Conversations from elsewhere: sent in, watched while they come, broken off, gone on with, and taken back in one step. */
import { api, Problem, problemOf, told, type Shape } from '$lib/api/client';
import { keep, kept } from '$lib/browser/local-storage';
import { rereading } from '$lib/live/reload-on';
import { Asked } from '$lib/live/query.svelte';
import { takeBack } from '$lib/memory/item/memory-item.svelte';
import { tried } from '$lib/ui/feedback/try-action';

export type Past = Shape<'PastImportOut'>;
export type Import = Shape<'ImportStateOut'>;

const LOOK_MS = 500;
const SENT = 'imports'; // those that this device sent: while one waits, no fact tells of it
const SENT_MAX = 20;

/** Whether it still comes in. */
export const comes = (one: Import): boolean => one.state === 'waiting' || one.state === 'running';

class Imports {
	past = new Asked<Past[]>();
	/** How much of the file is sent, from 0 to 1; null: nothing is being sent. */
	sent = $state<number | null>(null);
	/** How those stand that this server has to do with since it started, the newest first. */
	known = $state<Import[]>([]);
	problem = $state<Problem | null>(null);
	#timer: ReturnType<typeof setTimeout> | undefined;
	#followed = false;

	/** Read what came in, and watch what comes; what is returned ends it. */
	follow(): () => void {
		this.#followed = true;
		this.read();
		void Promise.all(sentHere().map((id) => this.#ask(id, true))).then(() => this.#look());
		const reading = rereading(/^thread\.import_/, () => this.read());
		return () => {
			this.#followed = false;
			clearTimeout(this.#timer);
			reading();
		};
	}

	read(): void {
		void this.past.ask(async () => {
			const past = await told(api.GET('/api/imports'));
			await Promise.all(past.filter((one) => this.#isNews(one)).map((one) => this.#ask(one.import_id, true)));
			this.#lookSoon();
			return past;
		});
	}

	/** How one stands, if the server knows. */
	state(importId: string): Import | undefined {
		return this.known.find((one) => one.import_id === importId);
	}

	async take(file: File, home: boolean): Promise<void> {
		[this.sent, this.problem] = [0, null];
		try {
			const begun = await this.#send(file, home);
			this.#keep(begun);
			keep(SENT, [begun.import_id, ...sentHere()].slice(0, SENT_MAX).join(' '));
			this.#lookSoon();
		} catch (error) {
			this.problem = problemOf(error);
		} finally {
			this.sent = null;
		}
	}

	/** End it after what is at hand. What is in stays. */
	async breakOff(importId: string): Promise<void> {
		await this.#does(async () => {
			await told(api.DELETE('/api/imports/{import_id}', { params: { path: { import_id: importId } } }));
		});
	}

	/** Go on with one that failed or was broken off. */
	async resume(importId: string): Promise<void> {
		await this.#does(async () => {
			this.#keep(await told(api.POST('/api/imports/{import_id}/resume', { params: { path: { import_id: importId } } })));
			this.#lookSoon();
		});
	}

	/** All of it is gone again, and can be brought back by importing it once more. */
	async undo(past: Past): Promise<void> {
		if (!(await takeBack(past.position, '', `${past.name} is taken back.`))) return;
		if (this.state(past.import_id)?.state === 'broken off') await this.breakOff(past.import_id); // what was sent goes too
		this.#drop(past.import_id);
		this.read();
	}

	/** Whether the list tells of one whose state is not known here yet. */
	#isNews(past: Past): boolean {
		const state = this.state(past.import_id);
		return past.under_way ? !state || !comes(state) : !past.ended && !state;
	}

	#keep(found: Import): void {
		if (this.state(found.import_id)) this.known = this.known.map((one) => (one.import_id === found.import_id ? found : one));
		else this.known = [found, ...this.known];
	}

	#drop(importId: string): void {
		this.known = this.known.filter((one) => one.import_id !== importId);
		keep(SENT, sentHere().filter((id) => id !== importId).join(' ') || null);
	}

	#lookSoon(): void {
		clearTimeout(this.#timer);
		if (this.#followed && this.known.some(comes)) this.#timer = setTimeout(() => void this.#look(), LOOK_MS);
	}

	/** Ask how those stand that come in, and again until all are over. */
	async #look(): Promise<void> {
		const coming = this.known.filter(comes);
		await Promise.all(coming.map((one) => this.#ask(one.import_id, false)));
		if (coming.length > this.known.filter(comes).length) this.read();
		this.#lookSoon();
	}

	/** Unless it is `news`, it may have been taken back meanwhile: then it stays away. */
	async #ask(importId: string, news: boolean): Promise<void> {
		const params = { path: { import_id: importId } };
		try {
			const found = await told(api.GET('/api/imports/{import_id}', { params }));
			if (news || this.state(importId)) this.#keep(found);
		} catch (error) {
			if (problemOf(error).status === 404) this.#drop(importId); // the server is another one; the list says what came of it
		}
	}

	async #does(act: () => Promise<void>): Promise<void> {
		if (!(await tried(act))) this.read();
	}

	/** By the older way of asking, for only that one tells how much is sent. */
	#send(file: File, home: boolean): Promise<Import> {
		return new Promise((give, fail) => {
			const asked = new XMLHttpRequest();
			const how = new URLSearchParams({ name: file.name, home: String(home), wait: 'false' });
			asked.open('POST', `/api/imports?${how}`);
			asked.setRequestHeader('content-type', 'application/octet-stream');
			asked.responseType = 'json';
			asked.upload.onprogress = (event) => (this.sent = event.total ? event.loaded / event.total : 0);
			asked.onload = () => {
				if (asked.status === 202) give(asked.response as Import);
				else fail(problemOf(asked.response, asked.status));
			};
			asked.onerror = () => fail(new Problem('Everloop cannot be reached.', 'Send the file again: nothing comes in twice.'));
			asked.send(file);
		});
	}
}

/** What this device sent lately, the newest first. */
function sentHere(): string[] {
	return (kept(SENT) ?? '').split(' ').filter(Boolean);
}

/** One for all pages: what is being sent goes on while another page is shown. */
export const imports = new Imports();
