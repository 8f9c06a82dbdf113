/** The memories that were kept from the messages of a thread, by message. */
import { api, unwrap, type Schema } from '$lib/api/client';
import { retract } from '$lib/api/retract';
import { reloadOn } from '$lib/live/reload-on';
import { toasts } from '$lib/ui';
import { tryAction } from '$lib/ui/feedback/try-action';

export type SavedMemory = Schema<'SavedOut'>;

export class SavedMemories {
	byMessage = $state.raw<ReadonlyMap<string, SavedMemory[]>>(new Map());

	constructor(readonly threadId: string) {}

	/** Load them, and again whenever one is kept or undone. Returns a function that unsubscribes. */
	follow(): () => void {
		void this.#load();
		return reloadOn(/^memory\.remembered|^thread\.answer_given/, () => void this.#load());
	}

	undo(memory: SavedMemory): Promise<boolean> {
		return tryAction(async () => {
			await retract(memory.position, false);
			toasts.show('Removed from memory. The message stays.');
			await this.#load();
		});
	}

	async #load(): Promise<void> {
		try {
			const path = { thread_id: this.threadId };
			const found = await unwrap(api.GET('/api/threads/{thread_id}/saved', { params: { path } }));
			const grouped = new Map<string, SavedMemory[]>();
			for (const one of found) grouped.set(one.message_id, [...(grouped.get(one.message_id) ?? []), one]);
			this.byMessage = grouped;
		} catch {
			// The chips are an addition; the next fact loads them again.
		}
	}
}
