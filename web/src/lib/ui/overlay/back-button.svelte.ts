/**
 * What is open above a page is a step of its history: the back key closes it, and only then leaves the page.
 *
 * Closed in another way, its step is taken back. Whoever goes elsewhere from it takes it back first.
 */
import { untrack } from 'svelte';
import { beforeNavigate, goto, pushState, replaceState } from '$app/navigation';
import { navigating, page } from '$app/state';

const open = new Set<number>();
let newest = 0;
let leaving: Promise<void> | null = null; // steps are being taken back

/** Those that were taken on this page, the newest last. Some may be of things that are closed by now. */
const steps = (): number[] => page.state.open ?? [];

function isStale(): boolean {
	const last = steps().at(-1);
	return last !== undefined && !open.has(last);
}

function back(count: number): Promise<void> {
	leaving = new Promise((done) => {
		const over = () => {
			leaving = null;
			done();
		};
		addEventListener('popstate', over, { once: true });
	});
	history.go(-count);
	return leaving;
}

function tidy(): void {
	if (!leaving && !navigating.to && isStale()) void back(1);
}

function push(id: number): void {
	if (isStale()) replaceState('', { ...page.state, open: [...steps().slice(0, -1), id] });
	else pushState('', { ...page.state, open: [...steps(), id] });
	open.add(id);
}

/** Make what is open now and then a step. Call it once for each dialog, while its component begins. */
export function asStep(isOpen: () => boolean, close: () => void): void {
	const now = $derived(isOpen());
	$effect(() => {
		if (!now) return;
		const id = performance.timeOrigin + ++newest; // also after the page was loaded anew, no other has it
		let here = $state(false);
		let ended = false;
		const begin = () => {
			if (ended) return;
			push(id);
			here = true;
		};
		if (leaving) void leaving.then(begin);
		else untrack(begin);
		$effect(() => {
			if (here && !steps().includes(id)) untrack(close);
		});
		return () => {
			ended = true;
			open.delete(id);
			setTimeout(tidy); // not before it is known whether one goes elsewhere
		};
	});
}

/** Keep the history tidy; once for all pages. */
export function keepSteps(): void {
	beforeNavigate(({ to, type, willUnload, cancel }) => {
		if (!to || willUnload || type === 'popstate' || !(leaving || steps().length)) return;
		cancel();
		void elsewhere(to.url);
	});
	$effect(() => {
		if (steps().length && !navigating.to) setTimeout(tidy);
	});
}

async function elsewhere(url: URL): Promise<void> {
	while (leaving || steps().length) await (leaving ?? back(steps().length));
	await goto(url, { replaceState: url.href === location.href });
}
