/** What can be done with a message, as a menu. */
import Copy from '@lucide/svelte/icons/copy';
import EyeOff from '@lucide/svelte/icons/eye-off';
import GitBranch from '@lucide/svelte/icons/git-branch';
import History from '@lucide/svelte/icons/history';
import Pencil from '@lucide/svelte/icons/pencil';
import Refresh from '@lucide/svelte/icons/refresh-cw';
import Layers from '@lucide/svelte/icons/layers';
import Undo from '@lucide/svelte/icons/undo-2';
import type { Act } from '$lib/ui';
import type { Acts } from './message-actions.svelte';
import type { Message } from '../types';

export function menuOf(message: Message, acts: Acts): Act[] {
	const own = message.role === 'user';
	return [
		{ label: 'Copy', icon: Copy, does: () => void acts.copy(message) },
		...(own
			? [{ label: 'Edit and resend', icon: Pencil, does: () => (acts.editing = message) }]
			: [{ label: 'What it stood on', icon: Layers, does: () => (acts.inspected = message) }]),
		{ label: own ? 'Answer again' : 'Another answer', icon: Refresh, does: () => void acts.again(message) },
		{
			label: 'Branch from here',
			icon: GitBranch,
			apart: true,
			does: () => void acts.rewind(message, 'You are on a new branch. The other one stays as it was.')
		},
		{ label: 'Go back to here', icon: History, does: () => void acts.ask('rewind', message) },
		{
			label: message.hidden ? 'Show again' : 'Hide',
			icon: EyeOff,
			apart: true,
			does: () => void acts.hide(message, !message.hidden)
		},
		{ label: 'Take back', icon: Undo, trouble: true, does: () => void acts.ask('retract', message) }
	];
}
