/** Push messages of this device: switch them on and off, choose what is announced, and send a test. */
import { api, unwrap, type Schema } from '$lib/api/client';
import { Query } from '$lib/live/query.svelte';
import { reloadOn } from '$lib/live/reload-on';
import { toasts } from '$lib/ui';
import { tryAction } from '$lib/ui/feedback/try-action';

export type Group = 'needs_you' | 'failed' | 'finished';
export type Delivery = Schema<'DeliveryOut'>;

/** Why push messages cannot be switched on here; empty if they can. */
export function whyUnavailable(publicKey: string): string {
	if (!publicKey) return 'This server cannot send push messages. Install everloop[serve], then start it again.';
	if (!window.isSecureContext) return 'Push messages need https. Open Everloop by its https address.';
	if (!('serviceWorker' in navigator) || !('PushManager' in window))
		return 'This browser has no push messages. On an iPhone or iPad, add Everloop to the home screen first and open it there.';
	if (Notification.permission === 'denied') return 'Notifications are blocked for this page. Allow them in the settings of the browser.';
	return '';
}

export class Push {
	query = new Query<Schema<'PushOut'>>();
	busy = $state(false);

	/** Load it, and reload when a message was sent. Returns a function that unsubscribes. */
	follow(): () => void {
		this.load();
		return reloadOn(/^notifications\./, () => this.load());
	}

	load(): void {
		void this.query.run(() => unwrap(api.GET('/api/push')));
	}

	/** Ask for permission, subscribe at the browser's push service, and tell the server. */
	async switchOn(groups: Group[]): Promise<void> {
		await this.#busyWhile(async () => {
			if ((await Notification.requestPermission()) !== 'granted') {
				toasts.show('Notifications were not allowed.');
				return;
			}
			const worker = await navigator.serviceWorker.ready;
			const key = decodeKey(this.query.data?.public_key ?? '');
			const made = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
			await this.#send(made.toJSON(), groups);
		});
	}

	/** Choose what is announced on this device. */
	async choose(groups: Group[]): Promise<void> {
		await this.#busyWhile(async () => {
			const worker = await navigator.serviceWorker.ready;
			const made = await worker.pushManager.getSubscription();
			if (made) await this.#send(made.toJSON(), groups);
			else this.query.data = await unwrap(api.DELETE('/api/push'));
		});
	}

	async switchOff(): Promise<void> {
		await this.#busyWhile(async () => {
			this.query.data = await unwrap(api.DELETE('/api/push'));
			const worker = await navigator.serviceWorker.getRegistration();
			await (await worker?.pushManager.getSubscription())?.unsubscribe();
		});
	}

	async test(): Promise<void> {
		await this.#busyWhile(async () => {
			const sent = await unwrap(api.POST('/api/push/test', { body: { request_id: '' } }));
			toasts.show(sent.outcome === 'delivered' ? 'Sent. It should appear within a few seconds.' : `Not sent: ${describeOutcome(sent)}`);
		});
	}

	async #send(made: PushSubscriptionJSON, groups: Group[]): Promise<void> {
		const body = { endpoint: made.endpoint ?? '', p256dh: made.keys?.p256dh ?? '', auth: made.keys?.auth ?? '', groups, request_id: '' };
		this.query.data = await unwrap(api.PUT('/api/push', { body }));
	}

	async #busyWhile(action: () => Promise<void>): Promise<void> {
		this.busy = true;
		await tryAction(action);
		this.busy = false;
	}
}

const OUTCOMES: Record<string, string> = {
	delivered: 'handed to the push service',
	gone: 'this device no longer takes messages; switch them on again',
	refused: 'the push service refused it',
	limited: 'the push service wants fewer messages',
	failed: 'the push service could not be reached'
};

/** How a message went, in words. */
export function describeOutcome(sent: Delivery): string {
	const again = sent.outcome === 'limited' && sent.kind !== 'test' ? '; it is tried again' : '';
	return `${OUTCOMES[sent.outcome] ?? sent.outcome}${sent.status ? ` (${sent.status})` : ''}${again}`;
}

/** A key in base64url as bytes, which older browsers want. */
export function decodeKey(text: string): Uint8Array<ArrayBuffer> {
	const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
	return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}
