/** The places of the interface: what the side of a laptop and the bottom of a phone show. */
import ChartNoAxesColumn from '@lucide/svelte/icons/chart-no-axes-column';
import Brain from '@lucide/svelte/icons/library';
import GitBranch from '@lucide/svelte/icons/git-branch';
import GraduationCap from '@lucide/svelte/icons/graduation-cap';
import MessageSquareText from '@lucide/svelte/icons/notebook-pen';
import Search from '@lucide/svelte/icons/search';
import Settings from '@lucide/svelte/icons/settings-2';
import Smartphone from '@lucide/svelte/icons/smartphone';
import { routes } from '$lib/routes';

export type Place = { label: string; href: string; icon: typeof Search; keys?: string };

/** On both sizes; at most four, for the phone's bar has a fifth for the rest. */
export const MAIN: Place[] = [
	{ label: 'Thread', href: routes.thread(), icon: MessageSquareText, keys: 'g t' },
	{ label: 'Search', href: routes.search(), icon: Search, keys: '/' },
	{ label: 'Memory', href: routes.memory(), icon: Brain, keys: 'g m' },
	{ label: 'Lessons', href: routes.lessons(), icon: GraduationCap, keys: 'g l' }
];

/** What is needed less often. */
export const MORE: Place[] = [
	{ label: 'Branches', href: routes.branches(), icon: GitBranch, keys: 'g b' },
	{ label: 'Usage', href: routes.usage(), icon: ChartNoAxesColumn, keys: 'g u' },
	{ label: 'Devices', href: routes.devices(), icon: Smartphone, keys: 'g d' },
	{ label: 'Settings', href: routes.settings(), icon: Settings, keys: 'g s' }
];

/** Whether an address is in a place. */
export function isIn(place: Place, path: string): boolean {
	if (place.href === '/') return path === '/' || path.startsWith('/t/');
	const root = place.href.split('/').slice(0, 2).join('/');
	return path === root || path.startsWith(`${root}/`);
}
