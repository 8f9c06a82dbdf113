/** The pages in the sidebar of a desktop and in the bottom bar of a phone. */
import Activity from '@lucide/svelte/icons/activity';
import ChartNoAxesColumn from '@lucide/svelte/icons/chart-no-axes-column';
import Drama from '@lucide/svelte/icons/drama';
import GitBranch from '@lucide/svelte/icons/git-branch';
import GraduationCap from '@lucide/svelte/icons/graduation-cap';
import Inbox from '@lucide/svelte/icons/inbox';
import Library from '@lucide/svelte/icons/library';
import ListChecks from '@lucide/svelte/icons/list-checks';
import NotebookPen from '@lucide/svelte/icons/notebook-pen';
import Search from '@lucide/svelte/icons/search';
import Settings from '@lucide/svelte/icons/settings-2';
import Smartphone from '@lucide/svelte/icons/smartphone';
import { routes } from '$lib/routes';

export type NavItem = { label: string; href: string; icon: typeof Search; keys?: string };

/** Shown on both sizes; at most four, because the bottom bar needs the fifth place for "More". */
export const MAIN_ITEMS: NavItem[] = [
	{ label: 'Inbox', href: routes.inbox(), icon: Inbox, keys: 'g i' },
	{ label: 'Thread', href: routes.thread(), icon: NotebookPen, keys: 'g t' },
	{ label: 'Tasks', href: routes.tasks(), icon: ListChecks, keys: 'g w' },
	{ label: 'Worlds', href: routes.worlds(), icon: Drama, keys: 'g o' }
];

/** Pages that are needed less often. */
export const MORE_ITEMS: NavItem[] = [
	{ label: 'Memory', href: routes.memory(), icon: Library, keys: 'g m' },
	{ label: 'Search', href: routes.search(), icon: Search, keys: '/' },
	{ label: 'Lessons', href: routes.lessons(), icon: GraduationCap, keys: 'g l' },
	{ label: 'Branches', href: routes.branches(), icon: GitBranch, keys: 'g b' },
	{ label: 'Usage', href: routes.usage(), icon: ChartNoAxesColumn, keys: 'g u' },
	{ label: 'Health', href: routes.health(), icon: Activity, keys: 'g h' },
	{ label: 'Devices', href: routes.devices(), icon: Smartphone, keys: 'g d' },
	{ label: 'Settings', href: routes.settings(), icon: Settings, keys: 'g s' }
];

/** Whether a path belongs to a page of the navigation. */
export function isActive(item: NavItem, path: string): boolean {
	if (item.href === '/') return path === '/' || path.startsWith('/t/');
	const root = item.href.split('/').slice(0, 2).join('/');
	return path === root || path.startsWith(`${root}/`);
}
