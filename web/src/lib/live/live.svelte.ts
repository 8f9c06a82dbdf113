/**
 * The one stream of the page. It follows facts by position, comes back by itself where it was, and says honestly how it stands.
 *
 * A view reads a snapshot, then listens here; `again` tells it that it may have missed something and should read anew.
 */
import type { Fact, Words } from './fact';

export type Standing = 'off' | 'joining' | 'live' | 'lost';
type Heard = {
	fact?: (fact: Fact) => void;
	words?: (words: Words) => void;
	again?: () => void;
};

const FIRST_WAIT_MS = 500;
const WAIT_MAX_MS = 15_000;
const ASLEEP_MS = 5_000;

export class Live {
	/** How the connection stands. */
	standing = $state<Standing>('off');
	/** The newest position that was seen. */
	position = $state(0);

	#source: EventSource | null = null;
	#listeners = new Set<Heard>();
	#wait = FIRST_WAIT_MS;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#left = 0;
	#lookAgain: () => Promise<boolean>;

	/** `allowed` says whether this device is still let in; it is asked when the stream breaks. */
	constructor(allowed: () => Promise<boolean>) {
		this.#lookAgain = allowed;
	}

	/** Hear what happens from now on; what is returned ends it. */
	listen(heard: Heard): () => void {
		this.#listeners.add(heard);
		return () => this.#listeners.delete(heard);
	}

	start(): void {
		if (this.standing !== 'off') return;
		this.#join();
		document.addEventListener('visibilitychange', this.#seen);
		window.addEventListener('pageshow', this.#woken);
		window.addEventListener('online', this.#woken);
		window.addEventListener('offline', this.#cut);
	}

	stop(): void {
		this.#close();
		this.standing = 'off';
		this.position = 0;
		document.removeEventListener('visibilitychange', this.#seen);
		window.removeEventListener('pageshow', this.#woken);
		window.removeEventListener('online', this.#woken);
		window.removeEventListener('offline', this.#cut);
	}

	/** Try now, instead of later. */
	retry(): void {
		this.#wait = FIRST_WAIT_MS;
		this.#close();
		this.#join();
	}

	#join(): void {
		if (this.standing !== 'lost') this.standing = 'joining';
		const after = this.position ? `?after=${this.position}` : '';
		const source = new EventSource(`/api/stream${after}`);
		this.#source = source;
		source.addEventListener('hello', (event) => this.#hello(JSON.parse(event.data)));
		source.addEventListener('fact', (event) => this.#fact(JSON.parse(event.data)));
		source.addEventListener('so_far', (event) => this.#words(JSON.parse(event.data)));
		source.addEventListener('words', (event) => this.#words(JSON.parse(event.data)));
		source.addEventListener('error', () => this.#broken(source));
	}

	#hello(hello: { position: number }): void {
		const fresh = this.position === 0;
		const cameBack = this.standing === 'lost';
		this.standing = 'live';
		this.#wait = FIRST_WAIT_MS;
		if (fresh) this.position = hello.position;
		if (cameBack || fresh) for (const one of this.#listeners) one.again?.();
	}

	#fact(fact: Fact): void {
		if (fact.position <= this.position) return;
		this.position = fact.position;
		for (const one of this.#listeners) one.fact?.(fact);
	}

	#words(words: Words): void {
		for (const one of this.#listeners) one.words?.(words);
	}

	#broken(source: EventSource): void {
		if (source !== this.#source) return;
		this.#close();
		this.standing = 'lost';
		this.#timer = setTimeout(async () => {
			if (await this.#lookAgain()) this.#join();
		}, this.#wait);
		this.#wait = Math.min(this.#wait * 2, WAIT_MAX_MS);
	}

	#close(): void {
		clearTimeout(this.#timer);
		this.#source?.close();
		this.#source = null;
	}

	#seen = (): void => {
		if (document.visibilityState === 'hidden') this.#left = Date.now();
		else if (this.standing === 'lost' || Date.now() - this.#left > ASLEEP_MS) this.retry();
	};

	#woken = (event: Event): void => {
		if (event.type === 'online' || (event as PageTransitionEvent).persisted) this.retry();
	};

	#cut = (): void => {
		this.#close();
		this.standing = 'lost';
	};
}

