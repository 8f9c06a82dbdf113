/** A start without a connection: the service worker keeps what this page was made of. */
import { dev } from '$app/environment';
import { whenIdle } from '$lib/browser/idle';

/** Begin to keep it, once the page is there. */
export function keepOffline(): void {
	if ('serviceWorker' in navigator) whenIdle(() => keep(navigator.serviceWorker));
}

async function keep(workers: ServiceWorkerContainer): Promise<void> {
	await workers.register('/service-worker.js', { type: dev ? 'module' : 'classic' });
	const { active } = await workers.ready;
	const tell = (made: PerformanceEntryList) => active?.postMessage(made.map((entry) => entry.name));
	new PerformanceObserver((more) => tell(more.getEntries())).observe({ type: 'resource', buffered: true });
}
