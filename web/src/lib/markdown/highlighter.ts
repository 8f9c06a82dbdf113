/** Code in colour, asked of a worker; what was coloured lately is kept. */
import { Once } from '$lib/api/request-cache';
import ShikiWorker from './shiki.worker?worker';

type Found = { id: number; markup: string | null };

const KEPT_MAX = 200;
const kept = new Once<string | null>(KEPT_MAX);
const waiting = new Map<number, (markup: string | null) => void>();
let worker: Worker | undefined;
let asked = 0;

/** The inside of a code element, in colour; null if the language is not known. */
export function coloured(code: string, language: string): Promise<string | null> {
	return kept.of(`${language}\n${code}`, () => ask(code, language));
}

function ask(code: string, language: string): Promise<string | null> {
	worker ??= begun();
	const id = (asked += 1);
	worker.postMessage({ id, code, language });
	return new Promise((resolve) => waiting.set(id, resolve));
}

function begun(): Worker {
	const made = new ShikiWorker();
	made.addEventListener('message', ({ data: { id, markup } }: MessageEvent<Found>) => {
		waiting.get(id)?.(markup);
		waiting.delete(id);
	});
	return made;
}
