/** Highlights code in a web worker, and caches the results. */
import { RequestCache } from '$lib/api/request-cache';
import ShikiWorker from './shiki.worker?worker';

type HighlightResult = { id: number; markup: string | null };

const CACHED_MAX = 200;
const cache = new RequestCache<string | null>(CACHED_MAX);
const waiting = new Map<number, (markup: string | null) => void>();
let worker: Worker | undefined;
let lastId = 0;

/** The highlighted content of a code element; null if the language is unknown. */
export function highlightCode(code: string, language: string): Promise<string | null> {
	return cache.get(`${language}\n${code}`, () => request(code, language));
}

function request(code: string, language: string): Promise<string | null> {
	worker ??= startWorker();
	const id = (lastId += 1);
	worker.postMessage({ id, code, language });
	return new Promise((resolve) => waiting.set(id, resolve));
}

function startWorker(): Worker {
	const started = new ShikiWorker();
	started.addEventListener('message', ({ data: { id, markup } }: MessageEvent<HighlightResult>) => {
		waiting.get(id)?.(markup);
		waiting.delete(id);
	});
	return started;
}
