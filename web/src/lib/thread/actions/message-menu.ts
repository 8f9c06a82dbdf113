/** The menu of a message. */
import Copy from '@lucide/svelte/icons/copy';
import EyeOff from '@lucide/svelte/icons/eye-off';
import GitBranch from '@lucide/svelte/icons/git-branch';
import History from '@lucide/svelte/icons/history';
import Layers from '@lucide/svelte/icons/layers';
import Pencil from '@lucide/svelte/icons/pencil';
import Refresh from '@lucide/svelte/icons/refresh-cw';
import RefreshDot from '@lucide/svelte/icons/refresh-ccw-dot';
import Trash from '@lucide/svelte/icons/trash-2';
import type { MenuItem } from '$lib/ui';
import type { Message } from '../types';
import type { MessageActions } from './message-actions.svelte';

export function messageMenu(message: Message, actions: MessageActions): MenuItem[] {
	const own = message.role === 'user';
	return [
		{ label: 'Copy', icon: Copy, run: () => void actions.copy(message) },
		...(own
			? [{ label: 'Edit', icon: Pencil, run: () => (actions.editing = message) }]
			: [{ label: 'Sources', icon: Layers, run: () => (actions.inspected = message) }]),
		{ label: 'Regenerate answer', icon: Refresh, run: () => void actions.regenerate(message) },
		{ label: 'Ask again with…', icon: RefreshDot, run: () => (actions.askingAgain = message) },
		{
			label: 'Branch from here',
			icon: GitBranch,
			separated: true,
			run: () => void actions.rewind(message, 'New branch created. The previous one is kept.')
		},
		{ label: 'Rewind to here', icon: History, run: () => void actions.requestConfirmation('rewind', message) },
		{
			label: message.hidden ? 'Unhide' : 'Hide',
			icon: EyeOff,
			separated: true,
			run: () => void actions.hide(message, !message.hidden)
		},
		{ label: 'Delete', icon: Trash, danger: true, run: () => void actions.requestConfirmation('retract', message) }
	];
}
