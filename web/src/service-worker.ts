/// <reference types="@sveltejs/kit" />
/// <reference lib="webworker" />
/**
 * The shell without a connection: the page and what it was made of are kept; nothing of what was said ever is.
 *
 * Files whose names carry their digest never change and are taken from here first. The page itself is asked for anew each time, and
 * only taken from here when the engine cannot be reached.
 */
import { version } from '$service-worker';

const worker = self as unknown as ServiceWorkerGlobalScope;
const SHELL = '/';
const KEPT = `everloop-${version}`;

/** Not every browser has it, and TypeScript does not know it yet: what needs no worker does not wake one. */
type Routing = { addRoutes?: (routes: object[]) => Promise<void> };
const ROUTES = [
	{ condition: { urlPattern: '/api/*' }, source: 'network' },
	{ condition: { urlPattern: '/_app/immutable/*' }, source: { cacheName: KEPT } },
	// A start does not wait until this worker is awake; without a connection, it is the one that answers.
	{ condition: { requestMode: 'navigate' }, source: 'race-network-and-fetch-handler' }
];

worker.addEventListener('install', (event) => {
	event.waitUntil((event as Routing).addRoutes?.(ROUTES) ?? Promise.resolve());
	event.waitUntil(
		caches
			.open(KEPT)
			.then((cache) => cache.add(SHELL))
			.then(() => worker.skipWaiting())
	);
});

worker.addEventListener('activate', (event) => {
	event.waitUntil(
		caches
			.keys()
			.then((names) => Promise.all(names.filter((name) => name !== KEPT).map((name) => caches.delete(name))))
			.then(() => worker.clients.claim())
	);
});

/** A page tells what it was made of before this worker was there. */
worker.addEventListener('message', (event) => {
	const files = (event.data as string[]).filter(isFixed);
	event.waitUntil(caches.open(KEPT).then((cache) => Promise.all(files.map((file) => added(cache, file)))));
});

worker.addEventListener('fetch', (event) => {
	const { request } = event;
	const address = new URL(request.url);
	if (request.method !== 'GET' || address.origin !== worker.location.origin) return;
	if (isFixed(address.href)) event.respondWith(fixed(request));
	else if (request.mode === 'navigate') event.respondWith(shell(request));
});

function isFixed(address: string): boolean {
	const { origin, pathname } = new URL(address, worker.location.href);
	return origin === worker.location.origin && pathname.startsWith('/_app/immutable/');
}

async function added(cache: Cache, file: string): Promise<void> {
	if (!(await cache.match(file))) await cache.add(file);
}

async function fixed(request: Request): Promise<Response> {
	const cache = await caches.open(KEPT);
	const known = await cache.match(request);
	if (known) return known;
	const answer = await fetch(request);
	if (answer.ok) await cache.put(request, answer.clone());
	return answer;
}

async function shell(request: Request): Promise<Response> {
	try {
		return await fetch(request);
	} catch (error) {
		const known = await caches.match(SHELL);
		if (known) return known;
		throw error;
	}
}
