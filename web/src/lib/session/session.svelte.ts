/** Who this device is, how it comes in, and the stream that it follows while it is in. */
import { api, onSignedOut, problemOf, told, type Problem, type Shape } from '$lib/api/client';
import { askEarly, dropEarly } from '$lib/api/prefetch';
import { whenIdle } from '$lib/browser/idle';
import { Live } from '$lib/live/event-stream.svelte';
import { zoneHere } from '$lib/browser/time-zone';
import { signed } from './passkey';

type Standing = 'asking' | 'in' | 'out' | 'unreached';
const CODE = /[#&]pair=([A-Za-z0-9-]+)/;

class Session {
	standing = $state<Standing>('asking');
	device = $state<Shape<'DeviceOut'> | null>(null);
	problem = $state<Problem | null>(null);
	live = new Live(() => this.#stillIn());

	constructor() {
		onSignedOut(() => this.#out());
		// A link that is opened where the page is already open changes only what stands after the #.
		window.addEventListener('hashchange', () => CODE.test(location.hash) && void this.begin());
	}

	/** At the start: come in with the code of the address if it has one, else as before. */
	async begin(): Promise<void> {
		const code = CODE.exec(location.hash)?.[1];
		if (code) {
			history.replaceState(history.state, '', location.pathname + location.search);
			if (await this.pair(code)) return;
		}
		try {
			await this.#in(await told(api.GET('/api/session')));
		} catch (error) {
			const problem = problemOf(error);
			if (problem.status === 401) return this.#out();
			dropEarly();
			this.standing = 'unreached';
		}
	}

	/** Come in with a one-time code; whether it opened. */
	async pair(code: string): Promise<boolean> {
		this.problem = null;
		try {
			await this.#in(await told(api.POST('/api/session', { body: { code, name: '' } })));
			return true;
		} catch (error) {
			dropEarly();
			this.problem = problemOf(error);
			if (this.standing === 'asking') this.standing = 'out';
			return false;
		}
	}

	/** Come in with a passkey. Breaking it off is no trouble. */
	async unlock(): Promise<void> {
		this.problem = null;
		try {
			const credential = await signed();
			if (credential) await this.#in(await told(api.POST('/api/session/passkey', { body: { credential, name: '' } })));
		} catch (error) {
			this.problem = problemOf(error);
		}
	}

	async leave(): Promise<void> {
		await api.DELETE('/api/session');
		this.#out();
	}

	async #in(device: Shape<'DeviceOut'>): Promise<void> {
		this.device = device;
		this.problem = null;
		askEarly(true);
		await this.live.start(); // first, so that what pages read is never older than what they hear
		if (!this.device) return; // it was signed out meanwhile
		this.standing = 'in';
		whenIdle(tellPlace);
	}

	#out(): void {
		this.live.stop();
		askEarly(false);
		dropEarly();
		this.device = null;
		this.standing = 'out';
	}

	async #stillIn(): Promise<void> {
		await api.GET('/api/session').catch(() => undefined); // a refusal is heard by everybody
	}
}

/** Days end at midnight where the person is. Saying the same place again records nothing. */
async function tellPlace(): Promise<void> {
	const zone = zoneHere();
	if (zone) await api.PUT('/api/place', { body: { zone } });
}

export const session = new Session();
