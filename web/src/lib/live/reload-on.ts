/** Keeps a page up to date: reloads it shortly after facts of certain kinds were recorded. */
import { session } from '$lib/session/session.svelte';
import type { Fact } from './fact';

const DEBOUNCE_MS = 250;

/** Call `reload` when a fact of these kinds arrives; a burst of facts causes one reload. Returns a function that unsubscribes. */
export function reloadOn(kinds: RegExp, reload: () => void): () => void {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const unsubscribe = session.events.listen({
		reset: reload,
		fact: (fact: Fact) => {
			if (!kinds.test(fact.kind) && !fact.kind.startsWith('log.')) return;
			clearTimeout(timer);
			timer = setTimeout(reload, DEBOUNCE_MS);
		}
	});
	return () => {
		clearTimeout(timer);
		unsubscribe();
	};
}
