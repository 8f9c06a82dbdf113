/**
 * Makes the browser's back button close an open dialog or sheet before it leaves the page: each one is a history entry.
 *
 * Closed in another way, its entry is removed again. Navigating away from an open dialog removes its entry first.
 */
import { untrack } from 'svelte';
import { beforeNavigate, goto, pushState, replaceState } from '$app/navigation';
import { navigating, page } from '$app/state';

const open = new Set<number>();
let lastId = 0;
let goingBack: Promise<void> | null = null; // entries are being removed

/** The history entries of this page, newest last. Some may belong to dialogs that are closed by now. */
const entries = (): number[] => page.state.open ?? [];

function isStale(): boolean {
	const last = entries().at(-1);
	return last !== undefined && !open.has(last);
}

function goBack(count: number): Promise<void> {
	goingBack = new Promise((resolve) => {
		const onPopState = () => {
			goingBack = null;
			resolve();
		};
		addEventListener('popstate', onPopState, { once: true });
	});
	history.go(-count);
	return goingBack;
}

function removeStaleEntry(): void {
	if (!goingBack && !navigating.to && isStale()) void goBack(1);
}

function push(id: number): void {
	if (isStale()) replaceState('', { ...page.state, open: [...entries().slice(0, -1), id] });
	else pushState('', { ...page.state, open: [...entries(), id] });
	open.add(id);
}

/** Close something when the back button is pressed. Call it once per dialog, while its component is created. */
export function closeOnBack(isOpen: () => boolean, close: () => void): void {
	const now = $derived(isOpen());
	$effect(() => {
		if (!now) return;
		const id = performance.timeOrigin + ++lastId; // unique across reloads of the page
		let pushed = $state(false);
		let closed = false;
		const add = () => {
			if (closed) return;
			push(id);
			pushed = true;
		};
		if (goingBack) void goingBack.then(add);
		else untrack(add);
		$effect(() => {
			if (pushed && !entries().includes(id)) untrack(close);
		});
		return () => {
			closed = true;
			open.delete(id);
			setTimeout(removeStaleEntry); // once it is known whether this is a navigation
		};
	});
}

/** Keep the history free of stale entries; call it once, in the root layout. */
export function handleBackButton(): void {
	beforeNavigate(({ to, type, willUnload, cancel }) => {
		if (!to || willUnload || type === 'popstate' || !(goingBack || entries().length)) return;
		cancel();
		void removeEntriesThenGo(to.url);
	});
	$effect(() => {
		if (entries().length && !navigating.to) setTimeout(removeStaleEntry);
	});
}

async function removeEntriesThenGo(url: URL): Promise<void> {
	while (goingBack || entries().length) await (goingBack ?? goBack(entries().length));
	await goto(url, { replaceState: url.href === location.href });
}
