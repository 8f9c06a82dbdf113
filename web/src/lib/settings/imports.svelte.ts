/** Conversations from elsewhere: sent in, watched while they come, and taken back in one step. */
import { api, Problem, problemOf, told, type Shape } from '$lib/api/client';
import { rereading } from '$lib/follow.svelte';
import { Asked } from '$lib/live/wait.svelte';
import { session } from '$lib/session/session.svelte';
import { takeBack } from '$lib/memory/life.svelte';

export type Past = Shape<'PastImportOut'>;
type Imported = Shape<'ImportedOut'>;

export class Imports {
	past = new Asked<Past[]>();
	/** How much of the file is sent, from 0 to 1; null: nothing comes in. */
	sent = $state<number | null>(null);
	taken = $state(0);
	last = $state<Imported | null>(null);
	problem = $state<Problem | null>(null);

	/** Read what came in, and count what comes; what is returned ends it. */
	follow(): () => void {
		this.read();
		const watching = session.live.listen({
			fact: (fact) => {
				if (fact.kind === 'thread.message_imported') this.taken += 1;
			}
		});
		const reading = rereading(/^thread\.import_/, () => this.read());
		return () => {
			watching();
			reading();
		};
	}

	read(): void {
		void this.past.ask(() => told(api.GET('/api/imports')));
	}

	async take(file: File, home: boolean): Promise<void> {
		[this.sent, this.taken, this.last, this.problem] = [0, 0, null, null];
		try {
			this.last = await this.#send(file, home);
			this.read();
		} catch (error) {
			this.problem = problemOf(error);
		} finally {
			this.sent = null;
		}
	}

	/** All of it is gone again, and can be brought back by importing it once more. */
	async undo(past: { position: number; name: string }): Promise<void> {
		if (!(await takeBack(past.position, '', `${past.name} is taken back.`))) return;
		this.last = null;
		this.read();
	}

	/** By the older way of asking, for only that one tells how much is sent. */
	#send(file: File, home: boolean): Promise<Imported> {
		return new Promise((give, fail) => {
			const asked = new XMLHttpRequest();
			asked.open('POST', `/api/imports?${new URLSearchParams({ name: file.name, home: String(home) })}`);
			asked.setRequestHeader('content-type', 'application/octet-stream');
			asked.responseType = 'json';
			asked.upload.onprogress = (event) => (this.sent = event.total ? event.loaded / event.total : 0);
			asked.onload = () => {
				if (asked.status === 201) give(asked.response as Imported);
				else fail(problemOf(asked.response, asked.status));
			};
			asked.onerror = () => fail(new Problem('Everloop cannot be reached.', 'Send the file again: nothing comes in twice.'));
			asked.send(file);
		});
	}
}
