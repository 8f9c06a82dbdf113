/** Keyboard shortcuts of the thread page: selecting messages and acting on the selected one. */
import { isTyping } from '$lib/shell/shortcuts';
import type { MessageActions } from './actions/message-actions.svelte';
import type { Message, Row } from './types';

type ShortcutContext = {
	rows: () => Row[];
	selected: () => string;
	select: (key: string) => void;
	focusComposer: () => void;
	stop: () => void;
	actions: MessageActions;
};

/** The key of the message after or before the selected one; of the last message if none is selected. */
export function adjacentMessage(rows: Row[], selected: string, step: 1 | -1): string {
	const keys = rows.filter((row) => row.type === 'message').map((row) => row.key);
	const now = keys.indexOf(selected);
	if (now < 0) return keys.at(-1) ?? '';
	return keys[Math.min(keys.length - 1, Math.max(0, now + step))] ?? selected;
}

function messageAt(rows: Row[], key: string): Message | undefined {
	const row = rows.find((one) => one.key === key);
	return row?.type === 'message' ? row.message : undefined;
}

/** A key handler for the thread page. */
export function threadShortcuts(context: ShortcutContext): (event: KeyboardEvent) => void {
	const messageShortcuts: Record<string, (message: Message) => void> = {
		e: (message) => message.role === 'user' && (context.actions.editing = message),
		r: (message) => void context.actions.regenerate(message),
		i: (message) => message.role !== 'user' && (context.actions.inspected = message),
		m: (message) =>
			document.querySelector<HTMLElement>(`[data-message="${CSS.escape(message.message_id)}"] .actions button`)?.click()
	};
	return (event) => {
		if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
		if (document.querySelector('[role="dialog"],[role="menu"]')) return;
		const message = messageAt(context.rows(), context.selected());
		if (event.key === 'j' || event.key === 'k') {
			context.select(adjacentMessage(context.rows(), context.selected(), event.key === 'j' ? 1 : -1));
		} else if (event.key === 'c') context.focusComposer();
		else if (event.key === 'Escape') context.stop();
		else if (message && messageShortcuts[event.key]) messageShortcuts[event.key]?.(message);
		else return;
		event.preventDefault();
	};
}
