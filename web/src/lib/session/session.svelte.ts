/** Who this device is, how it comes in, and the stream that it follows while it is in. */
import { api, onSignedOut, problemOf, told, type Problem, type Shape } from '$lib/api/client';
import { Live } from '$lib/live/live.svelte';

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
			this.#in(await told(api.GET('/api/session')));
		} catch (error) {
			const problem = problemOf(error);
			if (problem.status === 401) this.standing = 'out';
			else this.standing = 'unreached';
		}
	}

	/** Come in with a one-time code; whether it opened. */
	async pair(code: string): Promise<boolean> {
		this.problem = null;
		try {
			this.#in(await told(api.POST('/api/session', { body: { code, name: '' } })));
			return true;
		} catch (error) {
			this.problem = problemOf(error);
			if (this.standing === 'asking') this.standing = 'out';
			return false;
		}
	}

	async leave(): Promise<void> {
		await api.DELETE('/api/session');
		this.#out();
	}

	#in(device: Shape<'DeviceOut'>): void {
		this.device = device;
		this.standing = 'in';
		this.problem = null;
		this.live.start();
		// Days end at midnight where the person is. Saying the same place again records nothing.
		const { timeZone: zone } = Intl.DateTimeFormat().resolvedOptions();
		if (zone) void api.PUT('/api/place', { body: { zone } });
	}

	#out(): void {
		this.live.stop();
		this.device = null;
		this.standing = 'out';
	}

	async #stillIn(): Promise<boolean> {
		try {
			await told(api.GET('/api/session'));
			return true;
		} catch (error) {
			return problemOf(error).status !== 401;
		}
	}
}

export const session = new Session();
