/** One memory with its history, and the actions on it. Every action can be undone. */
import { goto } from '$app/navigation';
import { api, ApiError, toApiError, unwrap, type Schema } from '$lib/api/client';
import { retract } from '$lib/api/retract';
import { RetryingRequest } from '$lib/api/retrying-request';
import { Query } from '$lib/live/query.svelte';
import { reloadOn } from '$lib/live/reload-on';
import { toasts } from '$lib/ui';
import { tryAction } from '$lib/ui/feedback/try-action';

type Change = Omit<Schema<'Change'>, 'request_id'>;
const CONFLICT = 409;

/** Retract a fact, go to another page if the current one is gone with it, and confirm. */
export function retractAndNotify(position: number, goTo = '', message = 'Undone.'): Promise<boolean> {
	return tryAction(async () => {
		await retract(position, true);
		if (goTo) await goto(goTo);
		toasts.show(message);
	});
}

/** Whether a memory is deleted for good; what the engine would record again is archived instead. */
export const isDeletable = (item: Schema<'ItemOut'>): boolean => item.kind === 'fact' || item.kind === 'quote';

/** Delete or archive a memory from a list, and offer to undo it. */
export function removeMemory(item: Schema<'ItemOut'>): Promise<boolean> {
	if (!isDeletable(item)) return new MemoryItem(item.item_id).archive('', false);
	return tryAction(async () => {
		const params = { path: { item_id: item.item_id } };
		const { versions } = await unwrap(api.GET('/api/memories/{item_id}', { params }));
		// The first version: retracting a later one would only undo that edit.
		const position = await retract(versions[0]?.position ?? item.position, false);
		toasts.show('Deleted.', { label: 'Undo', run: () => void retractAndNotify(position) });
	});
}

export class MemoryItem {
	detail = new Query<Schema<'LifeOut'>>();
	citations = new Query<Schema<'StandsOut'>>();
	parts = new Query<Schema<'ZoomedOut'>[]>();
	#request = new RetryingRequest();

	constructor(readonly itemId: string) {}

	/** Load it, and reload when memory changes. Returns a function that unsubscribes. */
	follow(): () => void {
		this.load();
		return reloadOn(/^memory\./, () => this.load());
	}

	load(): void {
		const params = { path: { item_id: this.itemId } };
		void this.detail.run(() => unwrap(api.GET('/api/memories/{item_id}', { params })));
		void this.parts.run(() => unwrap(api.GET('/api/memories/{item_id}/below', { params })));
	}

	/** Load what cites it, before it is archived. */
	loadCitations(): void {
		const params = { path: { item_id: this.itemId } };
		void this.citations.run(() => unwrap(api.GET('/api/memories/{item_id}/retirement', { params })));
	}

	/** Change the text, and perhaps the title, of version `base`. If there is a newer version, that one stays and is loaded. */
	edit(text: string, title: string | null, base: number): Promise<boolean> {
		return tryAction(() => this.#apply({ text, title, base }, 'Saved.').catch((error) => this.#throwConflict(error)));
	}

	pin(pinned: boolean): Promise<boolean> {
		return this.#change({ pinned }, pinned ? 'Pinned.' : 'Unpinned.');
	}

	setImportance(significance: number): Promise<boolean> {
		return this.#change({ significance }, 'Importance changed.');
	}

	/** Archive it; `force` if something that the person wrote cites it. */
	archive(reason: string, force: boolean): Promise<boolean> {
		const params = { path: { item_id: this.itemId } };
		return tryAction(async () => {
			const done = await this.#request.send({ retire: reason }, (request_id) =>
				unwrap(api.POST('/api/memories/{item_id}/retirement', { params, body: { reason, force, request_id } }))
			);
			this.load();
			// Position 0: it was archived already, and there is nothing to undo.
			if (done.position) toasts.show('Archived.', { label: 'Undo', run: () => void this.#undo(done.position) });
			else toasts.show('It was archived already.');
		});
	}

	async #undo(position: number): Promise<void> {
		await retractAndNotify(position);
		this.load();
	}

	#throwConflict(error: unknown): never {
		const failure = toApiError(error);
		if (failure.status !== CONFLICT) throw failure;
		this.load();
		throw new ApiError('Another device changed this memory.', 'Its current text is shown above yours.', CONFLICT);
	}

	#change(change: Change, message: string): Promise<boolean> {
		return tryAction(() => this.#apply(change, message));
	}

	/** Apply a change and offer to undo it. Undoing also reverts its consequences, such as a pin that it displaced. */
	async #apply(change: Change, message: string): Promise<void> {
		const params = { path: { item_id: this.itemId } };
		const changed = await this.#request.send(change, (request_id) =>
			unwrap(api.PATCH('/api/memories/{item_id}', { params, body: { ...change, request_id } }))
		);
		this.detail.data = changed;
		const [position] = changed.done;
		if (position) toasts.show(message, { label: 'Undo', run: () => void this.#undo(position) });
	}
}
