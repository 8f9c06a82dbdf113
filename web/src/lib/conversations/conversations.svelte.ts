/** Actions on conversations, and the dialogs that some of them need. */
import Archive from '@lucide/svelte/icons/archive';
import ArchiveRestore from '@lucide/svelte/icons/archive-restore';
import Pencil from '@lucide/svelte/icons/pencil';
import Pin from '@lucide/svelte/icons/pin';
import PinOff from '@lucide/svelte/icons/pin-off';
import Trash from '@lucide/svelte/icons/trash-2';
import { goto } from '$app/navigation';
import type { Schema } from '$lib/api/client';
import { retract } from '$lib/api/retract';
import { routes } from '$lib/routes';
import { toasts, type MenuItem } from '$lib/ui';
import { tryAction } from '$lib/ui/feedback/try-action';
import { threads } from './threads.svelte';

export type Conversation = Schema<'ThreadOut'>;

class Conversations {
	/** The conversation that is being renamed. */
	renaming = $state.raw<Conversation | null>(null);
	/** The conversation that would be deleted, and what would go with it. */
	deleting = $state.raw<{ conversation: Conversation; impact: Schema<'ImpactOut'> | null } | null>(null);

	menu(one: Conversation): MenuItem[] {
		return [
			one.pinned
				? { label: 'Unpin', icon: PinOff, run: () => void this.#change(one, { pinned: false }) }
				: { label: 'Pin', icon: Pin, run: () => void this.#change(one, { pinned: true }) },
			{ label: 'Rename', icon: Pencil, run: () => (this.renaming = one) },
			one.archived
				? { label: 'Restore', icon: ArchiveRestore, run: () => void this.#change(one, { archived: false }) }
				: { label: 'Archive', icon: Archive, run: () => void this.archive(one) },
			{ label: 'Delete', icon: Trash, danger: true, separated: true, run: () => void this.requestDelete(one) }
		];
	}

	archive(one: Conversation): Promise<boolean> {
		return tryAction(async () => {
			await threads.change(one.thread_id, { archived: true });
			await leave(one);
			toasts.show(`Archived “${one.title}”.`, { label: 'Undo', run: () => void this.#change(one, { archived: false }) });
		});
	}

	/** Ask for confirmation, with a preview of what would be deleted. */
	requestDelete(one: Conversation): Promise<boolean> {
		this.deleting = { conversation: one, impact: null };
		return tryAction(async () => {
			const impact = await threads.previewDelete(one.thread_id);
			if (this.deleting?.conversation === one) this.deleting = { conversation: one, impact };
		});
	}

	/** Run the confirmed deletion. */
	confirmDelete(): void {
		const one = this.deleting?.conversation;
		this.deleting = null;
		if (one) void this.#delete(one);
	}

	#delete(one: Conversation): Promise<boolean> {
		return tryAction(async () => {
			await leave(one);
			const position = await threads.delete(one.thread_id);
			toasts.show(`Deleted “${one.title}”.`, { label: 'Undo', run: () => void this.#undoDelete(position) });
		});
	}

	#undoDelete(position: number): Promise<boolean> {
		return tryAction(async () => {
			await retract(position, false);
			await threads.load();
		});
	}

	#change(one: Conversation, change: { archived?: boolean; pinned?: boolean }): Promise<boolean> {
		return tryAction(() => threads.change(one.thread_id, change));
	}
}

/** Go to the home thread if a conversation that goes away is shown. */
async function leave(one: Conversation): Promise<void> {
	if (location.pathname === routes.thread(one.thread_id)) await goto(routes.thread());
}

export const conversations = new Conversations();
