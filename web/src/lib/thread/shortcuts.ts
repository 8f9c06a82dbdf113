/** Keys of the thread page: walking through messages, and doing things with the chosen one. */
import { isWriting } from '$lib/shell/shortcuts';
import type { Acts } from './actions/message-actions.svelte';
import type { Message, Row } from './types';

type Hands = {
	rows: () => Row[];
	chosen: () => string;
	choose: (key: string) => void;
	write: () => void;
	stop: () => void;
	acts: Acts;
};

/** The next or previous message from a chosen one; from the end if none is chosen. */
export function stepped(rows: Row[], chosen: string, way: 1 | -1): string {
	const keys = rows.filter((row) => row.sort === 'message').map((row) => row.key);
	const now = keys.indexOf(chosen);
	if (now < 0) return keys.at(-1) ?? '';
	return keys[Math.min(keys.length - 1, Math.max(0, now + way))] ?? chosen;
}

function messageAt(rows: Row[], key: string): Message | undefined {
	const row = rows.find((one) => one.key === key);
	return row?.sort === 'message' ? row.message : undefined;
}

export function keysOf(hands: Hands): (event: KeyboardEvent) => void {
	const does: Record<string, (message: Message) => void> = {
		e: (message) => message.role === 'user' && (hands.acts.editing = message),
		r: (message) => void hands.acts.again(message),
		i: (message) => message.role !== 'user' && (hands.acts.inspected = message),
		m: (message) =>
			document.querySelector<HTMLElement>(`[data-message="${CSS.escape(message.message_id)}"] .acts button`)?.click()
	};
	return (event) => {
		if (event.metaKey || event.ctrlKey || event.altKey || isWriting(event.target)) return;
		if (document.querySelector('[role="dialog"],[role="menu"]')) return;
		const message = messageAt(hands.rows(), hands.chosen());
		if (event.key === 'j' || event.key === 'k') {
			hands.choose(stepped(hands.rows(), hands.chosen(), event.key === 'j' ? 1 : -1));
		} else if (event.key === 'c') hands.write();
		else if (event.key === 'Escape') hands.stop();
		else if (message && does[event.key]) does[event.key]?.(message);
		else return;
		event.preventDefault();
	};
}
