/** The session of this device: signing in and out, and the event stream while signed in. */
import { api, ApiError, onSignedOut, toApiError, unwrap, type Schema } from '$lib/api/client';
import { setKey, setTicket } from '$lib/api/device-key.svelte';
import { discardPrefetched, isKnownDevice, setPrefetchEnabled } from '$lib/api/prefetch';
import { whenIdle } from '$lib/browser/idle';
import { clearLocal } from '$lib/browser/local-storage';
import { clearOffline } from '$lib/browser/offline-store';
import { deviceTimeZone } from '$lib/browser/time-zone';
import { EventStream } from '$lib/live/event-stream.svelte';
import { outbox, OUTBOX_KEY } from '$lib/thread/state/outbox.svelte';
import { signWithPasskey } from './passkey';

type SessionStatus = 'loading' | 'signed-in' | 'signed-out' | 'unreachable';
const FORBIDDEN = 403;
const TICKET_REFRESH_MS = 6 * 60 * 60 * 1000; // a ticket is valid for a day at least
const CODE = /[#&]pair=([A-Za-z0-9-]+)/;

class Session {
	status = $state<SessionStatus>('loading');
	device = $state<Schema<'DeviceOut'> | null>(null);
	error = $state<ApiError | null>(null);
	events = new EventStream(() => this.#check());
	#ticketTimer: ReturnType<typeof setInterval> | undefined;

	constructor() {
		onSignedOut(() => this.#setSignedOut());
		// A pairing link opened in a tab that shows this page already changes only the part after the #.
		window.addEventListener('hashchange', () => CODE.test(location.hash) && void this.start());
	}

	/** Sign in with the pairing code in the address, if it has one, or restore the session. */
	async start(): Promise<void> {
		const code = CODE.exec(location.hash)?.[1];
		if (code) {
			history.replaceState(history.state, '', location.pathname + location.search);
			if (await this.pair(code)) return;
		}
		try {
			await this.#setSignedIn(await unwrap(api.GET('/api/session')));
		} catch (error) {
			if (toApiError(error).status === 401) return this.#setSignedOut();
			discardPrefetched();
			if (toApiError(error).unreached && isKnownDevice()) return this.#startOffline();
			this.status = 'unreachable';
		}
	}

	/** Sign in with a pairing code. Returns whether it was accepted. */
	async pair(code: string): Promise<boolean> {
		this.error = null;
		try {
			await this.#keepKey(await unwrap(api.POST('/api/session', { body: { code, name: '' } })));
			return true;
		} catch (error) {
			discardPrefetched();
			this.error = explainRefusal(error, 'This code has expired or was already used.', 'Run everloop pair for a new one.');
			if (this.status === 'loading') this.status = 'signed-out';
			return false;
		}
	}

	/** Sign in with a passkey. Cancelling is not an error. */
	async signInWithPasskey(): Promise<void> {
		this.error = null;
		try {
			const credential = await signWithPasskey();
			if (credential) await this.#keepKey(await unwrap(api.POST('/api/session/passkey', { body: { credential, name: '' } })));
		} catch (error) {
			this.error = explainRefusal(error, 'This passkey was removed or belongs to another site.', 'Sign in with a code instead.');
		}
	}

	async signOut(): Promise<void> {
		await api.DELETE('/api/session');
		setKey(null);
		this.#setSignedOut();
		await clearOffline(); // also what was not sent
	}

	async #keepKey(device: Schema<'SignedIn'>): Promise<void> {
		setKey(device.key);
		await this.#setSignedIn(device);
	}

	async #setSignedIn(device: Schema<'SessionOut'>): Promise<void> {
		this.device = device;
		setTicket(device.ticket);
		this.#refreshTicket();
		this.error = null;
		setPrefetchEnabled(true);
		await this.events.start(); // first, so that no page loads data older than the events it receives
		if (!this.device) return; // signed out meanwhile
		this.status = 'signed-in';
		whenIdle(reportTimeZone);
	}

	/** Without a connection: open with what this browser keeps. The stream connects once the server is back, or finds out that this device is signed out. */
	async #startOffline(): Promise<void> {
		const unsubscribe = this.events.listen({ reset: () => (unsubscribe(), void this.#check()) }); // once it is connected
		this.#refreshTicket();
		await this.events.start();
		this.status = 'signed-in';
	}

	#refreshTicket(): void {
		clearInterval(this.#ticketTimer);
		this.#ticketTimer = setInterval(() => void this.#check(), TICKET_REFRESH_MS);
	}

	#setSignedOut(): void {
		this.events.stop();
		clearInterval(this.#ticketTimer);
		outbox.forget();
		void clearOffline([OUTBOX_KEY]); // unsent messages survive a session that expired
		clearLocal('draft.'); // whoever uses this browser next must not read them
		setPrefetchEnabled(false);
		discardPrefetched();
		this.device = null;
		this.status = 'signed-out';
	}

	/** Ask the server whether this device is still signed in; a 401 reaches `onSignedOut`. */
	async #check(): Promise<void> {
		const found = await api.GET('/api/session').catch(() => undefined);
		if (!found?.data) return;
		this.device = found.data;
		setTicket(found.data.ticket);
	}
}

/** What the person reads when a code or passkey is refused; other errors stay as they are. */
function explainRefusal(error: unknown, message: string, hint: string): ApiError {
	const failure = toApiError(error);
	return failure.status === FORBIDDEN ? new ApiError(message, hint, FORBIDDEN) : failure;
}

/** Tell the server the time zone, because days end at local midnight. Reporting the same zone again records nothing. */
async function reportTimeZone(): Promise<void> {
	const zone = deviceTimeZone();
	if (zone) await api.PUT('/api/place', { body: { zone } });
}

export const session = new Session();
