/**
 * What `app.html` asked before the scripts were here: every start needs the same few answers, so they are on their way while the
 * scripts are still being read. Each is taken once; what nobody takes is dropped when this device turns out not to be signed in.
 */
import { keep } from '$lib/browser/local-storage';

type Early = Map<string, Promise<Response>>;

function asked(): Early {
	return (window as { everloopEarly?: Early }).everloopEarly ?? new Map();
}

/** The answer that is on its way, if this was asked early. */
export function early(address: string, method = 'GET'): Promise<Response> | undefined {
	const { pathname, search } = new URL(address, location.href);
	const key = `${method} ${pathname}${search}`;
	const answer = asked().get(key);
	asked().delete(key);
	return answer;
}

/** What was asked early is no longer true. */
export function dropEarly(): void {
	for (const answer of asked().values()) void answer.then(({ body }) => body?.cancel()).catch(() => undefined);
	asked().clear();
}

/** Whether the next start should ask early: only a device that is signed in is answered. */
export function askEarly(known: boolean): void {
	keep('known', known ? 'true' : null);
}
