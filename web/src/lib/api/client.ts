/** The engine's HTTP door, typed by its own description. Every failure is a `Problem` with a next step. */
import createClient, { type Middleware } from 'openapi-fetch';
import { early } from './prefetch';
import type { components, paths } from './schema';

export type Shape<Name extends keyof components['schemas']> = components['schemas'][Name];

/** What went wrong, and what to do next. `status` 0: the engine was not reached. */
export class Problem extends Error {
	constructor(
		readonly error: string,
		readonly hint: string = '',
		readonly status: number = 0
	) {
		super(error);
	}
}

type Listener = () => void;
const signedOut = new Set<Listener>();

/** Tell when an answer says that this device is no longer let in. */
export function onSignedOut(listener: Listener): () => void {
	signedOut.add(listener);
	return () => signedOut.delete(listener);
}

const watching: Middleware = {
	onResponse({ response }) {
		if (response.status === 401) for (const listener of signedOut) listener();
	},
	onError() {
		return new Problem('Everloop cannot be reached.', 'It will be tried again by itself.');
	}
};

function asked(request: Request): Promise<Response> {
	return early(request.url, request.method) ?? fetch(request);
}

export const api = createClient<paths>({ baseUrl: '/', fetch: asked });
api.use(watching);

type Answer<Data> = { data?: Data; error?: unknown; response: Response };

/** What an answer holds. Throws a `Problem` when it holds none. */
export async function told<Data>(asked: Promise<Answer<Data>>): Promise<Data> {
	const { data, error, response } = await asked;
	if (response.ok) return data as Data;
	throw problemOf(error, response.status);
}

/** Anything that was thrown, as a `Problem`. */
export function problemOf(error: unknown, status = 0): Problem {
	if (error instanceof Problem) return error;
	if (typeof error === 'object' && error !== null && 'error' in error) {
		const { error: words, hint } = error as { error: unknown; hint?: unknown };
		return new Problem(String(words), typeof hint === 'string' ? hint : '', status);
	}
	if (error instanceof TypeError) {
		return new Problem('Everloop cannot be reached.', 'It will be tried again by itself.');
	}
	return new Problem('Something went wrong.', 'Try again; if it stays, look at the terminal.', status);
}
