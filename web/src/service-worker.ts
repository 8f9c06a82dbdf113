/// <reference types="@sveltejs/kit" />
/// <reference lib="webworker" />
/**
 * Caches the app shell, so that the page starts without a connection. It caches no conversations: the page keeps the last messages itself.
 *
 * Files with a hash in their names never change and are served from the cache first. The page itself is fetched every time, and
 * served from the cache only when the server cannot be reached.
 */
import { version } from '$service-worker';

const worker = self as unknown as ServiceWorkerGlobalScope;
const SHELL = '/';
const CACHE = `everloop-${version}`;

/** Static routing: requests that need no worker do not start one. Not in every browser, and not in TypeScript's types yet. */
type Routing = { addRoutes?: (routes: object[]) => Promise<void> };
const ROUTES = [
	{ condition: { urlPattern: '/api/*' }, source: 'network' },
	{ condition: { urlPattern: '/_app/immutable/*' }, source: { cacheName: CACHE } },
	// A start does not wait for this worker; without a connection, the worker answers.
	{ condition: { requestMode: 'navigate' }, source: 'race-network-and-fetch-handler' }
];

worker.addEventListener('install', (event) => {
	event.waitUntil((event as Routing).addRoutes?.(ROUTES) ?? Promise.resolve());
	event.waitUntil(
		caches
			.open(CACHE)
			.then((cache) => cache.add(SHELL))
			.then(() => worker.skipWaiting())
	);
});

worker.addEventListener('activate', (event) => {
	event.waitUntil(
		caches
			.keys()
			.then((names) => Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name))))
			.then(() => worker.clients.claim())
	);
});

/** A page sends the files that it loaded before this worker was active. */
worker.addEventListener('message', (event) => {
	const files = (event.data as string[]).filter(isImmutable);
	event.waitUntil(caches.open(CACHE).then((cache) => Promise.all(files.map((file) => addOnce(cache, file)))));
});

worker.addEventListener('fetch', (event) => {
	const { request } = event;
	const url = new URL(request.url);
	if (request.method !== 'GET' || url.origin !== worker.location.origin) return;
	if (isImmutable(url.href)) event.respondWith(serveImmutable(request));
	else if (request.mode === 'navigate') event.respondWith(servePage(request));
});

/** A push message: a title and the path of a page. It is shown always, whatever other devices do. */
type PushMessage = { title: string; path: string; kind: string };
type Badging = { setAppBadge?: (count?: number) => Promise<void> };

worker.addEventListener('push', (event) => {
	const message = (event.data?.json() ?? { title: 'Everloop', path: '/inbox', kind: '' }) as PushMessage;
	const options = { body: message.kind === 'test' ? 'Push messages work on this device.' : '', tag: message.path, data: message.path, icon: '/icon-192.png', badge: '/icon-192.png' };
	const badge = message.kind === 'test' ? undefined : (worker.navigator as Badging).setAppBadge?.();
	event.waitUntil(Promise.all([worker.registration.showNotification(message.title, options), badge?.catch(() => undefined)]));
});

/** A tap opens the item: in a window that is there, or in a new one. */
worker.addEventListener('notificationclick', (event) => {
	event.notification.close();
	event.waitUntil(openPage(String(event.notification.data ?? '/inbox')));
});

async function openPage(path: string): Promise<void> {
	const target = new URL(path, worker.location.origin);
	if (target.origin !== worker.location.origin) return;
	const [open] = await worker.clients.matchAll({ type: 'window' });
	if (!open) return void (await worker.clients.openWindow(target.href));
	await open.focus().catch(() => undefined); // first: a browser allows it only right after the tap
	await open.navigate(target.href);
}

function isImmutable(url: string): boolean {
	const { origin, pathname } = new URL(url, worker.location.href);
	return origin === worker.location.origin && pathname.startsWith('/_app/immutable/');
}

async function addOnce(cache: Cache, file: string): Promise<void> {
	if (!(await cache.match(file))) await cache.add(file);
}

async function serveImmutable(request: Request): Promise<Response> {
	const cache = await caches.open(CACHE);
	const cached = await cache.match(request);
	if (cached) return cached;
	const response = await fetch(request);
	if (response.ok) await cache.put(request, response.clone());
	return response;
}

async function servePage(request: Request): Promise<Response> {
	try {
		return await fetch(request);
	} catch (error) {
		const cached = await caches.match(SHELL);
		if (cached) return cached;
		throw error;
	}
}
