/** Registers the service worker, which lets the page start without a connection. */
import { dev } from '$app/environment';
import { whenIdle } from '$lib/browser/idle';

/** Register it once the page has loaded. */
export function registerServiceWorker(): void {
	if ('serviceWorker' in navigator) whenIdle(() => register(navigator.serviceWorker));
}

async function register(workers: ServiceWorkerContainer): Promise<void> {
	await workers.register('/service-worker.js', { type: dev ? 'module' : 'classic' });
	const { active } = await workers.ready;
	const sendUrls = (resources: PerformanceEntryList) => active?.postMessage(resources.map((entry) => entry.name));
	new PerformanceObserver((list) => sendUrls(list.getEntries())).observe({ type: 'resource', buffered: true });
}
