/** One memory with its whole life, and what can be done with it. Everything that is done can be undone. */
import { goto } from '$app/navigation';
import { api, Problem, problemOf, told, type Shape } from '$lib/api/client';
import { Attempts } from '$lib/api/retrying-request';
import { rereading } from '$lib/live/reload-on';
import { Asked } from '$lib/live/query.svelte';
import { retract } from '$lib/api/retract';
import { tried } from '$lib/ui/feedback/try-action';
import { toasts } from '$lib/ui';

type Change = Omit<Shape<'Change'>, 'request_id'>;
const CONFLICT = 409;

/** Retract a fact, and go elsewhere if what it made is gone with it. */
export function takeBack(position: number, leave = '', words = 'Undone.'): Promise<boolean> {
	return tried(async () => {
		await retract(position, true);
		if (leave) await goto(leave);
		toasts.say(words);
	});
}

export class Life {
	known = new Asked<Shape<'LifeOut'>>();
	stands = new Asked<Shape<'StandsOut'>>();
	below = new Asked<Shape<'ZoomedOut'>[]>();
	#attempts = new Attempts();

	constructor(readonly itemId: string) {}

	/** Read it, and again when memory changes; what is returned ends it. */
	follow(): () => void {
		this.read();
		return rereading(/^memory\./, () => this.read());
	}

	read(): void {
		const params = { path: { item_id: this.itemId } };
		void this.known.ask(() => told(api.GET('/api/memories/{item_id}', { params })));
		void this.below.ask(() => told(api.GET('/api/memories/{item_id}/below', { params })));
	}

	/** Look up who stands on it, before it steps back. */
	preview(): void {
		const params = { path: { item_id: this.itemId } };
		void this.stands.ask(() => told(api.GET('/api/memories/{item_id}/retirement', { params })));
	}

	/** Give it other words, and perhaps another title, in place of those of the version `base`. Newer ones stay, and are read. */
	revise(text: string, title: string | null, base: number): Promise<boolean> {
		return tried(() => this.#make({ text, title, base }, 'Revised.').catch((error) => this.#overtaken(error)));
	}

	pin(pinned: boolean): Promise<boolean> {
		return this.#change({ pinned }, pinned ? 'Pinned.' : 'No longer pinned.');
	}

	rate(significance: number): Promise<boolean> {
		return this.#change({ significance }, 'Its weight is changed.');
	}

	/** Let it step back; `force` where something that the person wrote stands on it. */
	retire(reason: string, force: boolean): Promise<boolean> {
		const params = { path: { item_id: this.itemId } };
		return tried(async () => {
			const done = await this.#attempts.make({ retire: reason }, (request_id) =>
				told(api.POST('/api/memories/{item_id}/retirement', { params, body: { reason, force, request_id } }))
			);
			this.read();
			// Position 0: it had stepped back already, and there is nothing of ours to undo.
			if (done.position) toasts.say('It stepped back.', { label: 'Undo', does: () => void this.#undone(done.position) });
			else toasts.say('It had stepped back already.');
		});
	}

	async #undone(position: number): Promise<void> {
		await takeBack(position);
		this.read();
	}

	#overtaken(error: unknown): never {
		const problem = problemOf(error);
		if (problem.status !== CONFLICT) throw problem;
		this.read();
		throw new Problem('It was changed meanwhile.', 'What it says now is shown above your words.', CONFLICT);
	}

	#change(change: Change, words: string): Promise<boolean> {
		return tried(() => this.#make(change, words));
	}

	/** Change it and offer to take that very change back: what follows from it, such as another pin that gave way, goes with it. */
	async #make(change: Change, words: string): Promise<void> {
		const params = { path: { item_id: this.itemId } };
		const changed = await this.#attempts.make(change, (request_id) =>
			told(api.PATCH('/api/memories/{item_id}', { params, body: { ...change, request_id } }))
		);
		this.known.data = changed;
		const [position] = changed.done;
		if (position) toasts.say(words, { label: 'Undo', does: () => void this.#undone(position) });
	}
}
