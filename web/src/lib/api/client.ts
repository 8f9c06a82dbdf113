/** Typed client of the HTTP API. Every failure is thrown as an `ApiError` with a hint about what to do next. */
import createClient, { type Middleware } from 'openapi-fetch';
import { keyHeaders } from './device-key.svelte';
import { takePrefetched } from './prefetch';
import type { components, paths } from './schema';

export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

const UNREACHABLE = 'Can’t reach Everloop.';

/** A failed request: what went wrong and what to do next. `status` is 0 if the server was not reached. */
export class ApiError extends Error {
	constructor(
		message: string,
		readonly hint: string = '',
		readonly status: number = 0
	) {
		super(message);
	}

	/** Whether the request did not reach Everloop: no response, or that of a proxy in front of it. */
	get unreached(): boolean {
		return this.status === 0 || this.status === 502 || this.status === 504;
	}
}

type Listener = () => void;
const signedOutListeners = new Set<Listener>();

/** Call `listener` when a response says that this device is no longer signed in. Returns a function that unsubscribes. */
export function onSignedOut(listener: Listener): () => void {
	signedOutListeners.add(listener);
	return () => signedOutListeners.delete(listener);
}

/** The error of a request that got no response. */
export function unreachable(hint = 'Everloop will try again automatically.'): ApiError {
	return new ApiError(UNREACHABLE, hint);
}

const sendKey: Middleware = {
	onRequest({ request }) {
		for (const [name, value] of Object.entries(keyHeaders())) request.headers.set(name, value);
		return request;
	}
};

const watchResponses: Middleware = {
	onResponse({ response }) {
		if (response.status === 401) for (const listener of signedOutListeners) listener();
	},
	onError() {
		return unreachable();
	}
};

function fetchOrPrefetched(request: Request): Promise<Response> {
	return takePrefetched(request.url, request.method) ?? fetch(request);
}

export const api = createClient<paths>({ baseUrl: '/', fetch: fetchOrPrefetched });
api.use(sendKey, watchResponses);

type Result<Data> = { data?: Data; error?: unknown; response: Response };

/** The data of a response. Throws an `ApiError` if the request failed. */
export async function unwrap<Data>(request: Promise<Result<Data>>): Promise<Data> {
	const { data, error, response } = await request;
	if (response.ok) return data as Data;
	throw toApiError(error, response.status);
}

/** An error of the server, which begins small and without a full stop as a terminal shows it, as a sentence of a page. */
function asSentence(message: string): string {
	const begun = message.replace(/^\p{Ll}+(?= )/u, (word) => word[0]?.toUpperCase() + word.slice(1));
	return /[.!?…:]$/.test(begun) ? begun : `${begun}.`;
}

/** Anything that was thrown, as an `ApiError`. */
export function toApiError(error: unknown, status = 0): ApiError {
	if (error instanceof ApiError) return error;
	if (typeof error === 'object' && error !== null && 'error' in error) {
		const { error: message, hint } = error as { error: unknown; hint?: unknown };
		return new ApiError(asSentence(String(message)), typeof hint === 'string' ? hint : '', status);
	}
	if (error instanceof TypeError) return unreachable();
	return new ApiError('Something went wrong.', 'Try again. If it keeps failing, check the terminal where Everloop runs.', status);
}
