/**
 * Requests that `app.html` sends before the scripts are loaded: every start needs the same few responses.
 *
 * Each response is used once. Those that nobody uses are discarded when this device turns out not to be signed in.
 */
import { readLocal, writeLocal } from '$lib/browser/local-storage';

type Prefetched = Map<string, Promise<Response>>;

function prefetched(): Prefetched {
	return (window as { everloopPrefetched?: Prefetched }).everloopPrefetched ?? new Map();
}

/** The prefetched response to a request, if there is one. */
export function takePrefetched(url: string, method = 'GET'): Promise<Response> | undefined {
	const { pathname, search } = new URL(url, location.href);
	const key = `${method} ${pathname}${search}`;
	const response = prefetched().get(key);
	prefetched().delete(key);
	return response;
}

/** Discard all prefetched responses: they are no longer valid. */
export function discardPrefetched(): void {
	for (const response of prefetched().values()) void response.then(({ body }) => body?.cancel()).catch(() => undefined);
	prefetched().clear();
}

/** Whether the next start prefetches: the server answers only devices that are signed in. */
export function setPrefetchEnabled(signedIn: boolean): void {
	writeLocal('known', signedIn ? 'true' : null);
}

/** Whether this device was signed in when it was last used. */
export function isKnownDevice(): boolean {
	return readLocal('known') === 'true';
}
