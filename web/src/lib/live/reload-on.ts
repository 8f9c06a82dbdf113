/** Pages that stay true: read now, and again shortly after something of theirs was recorded. */
import type { Fact } from './fact';
import { session } from '$lib/session/session.svelte';

const SETTLE_MS = 250;

/** Call `read` when a fact of these kinds comes; a burst of facts is one reading. What is returned ends it. */
export function rereading(kinds: RegExp, read: () => void): () => void {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const end = session.live.listen({
		again: read,
		fact: (fact: Fact) => {
			if (!kinds.test(fact.kind) && !fact.kind.startsWith('log.')) return;
			clearTimeout(timer);
			timer = setTimeout(read, SETTLE_MS);
		}
	});
	return () => {
		clearTimeout(timer);
		end();
	};
}
