/**
 * The one stream of the page. It follows facts by position, comes back by itself where it was, and says honestly how it stands.
 *
 * A view reads a snapshot, then listens here; whatever was missed in between is told again by position. `again` says that this was not
 * possible, and that a view should read anew.
 */
import { early } from '$lib/api/prefetch';
import { joined, spoken, type Fact, type Spoken, type Words } from './fact';
import { heardOf, type Told } from './sse-parser';

export type Standing = 'off' | 'joining' | 'live' | 'lost';
type Heard = {
	fact?: (fact: Fact) => void;
	words?: (words: Words) => void;
	again?: () => void;
};

const FIRST_WAIT_MS = 500;
const WAIT_MAX_MS = 15_000;
const ASLEEP_MS = 5_000;
const LOOK_MS = 5_000;
const SILENCE_MS = 40_000; // the engine beats every fifteen seconds: two were missed
const JOIN_MS = 1_000; // a start does not wait longer for the stream
const HELLO_MS = 4_000; // an old connection may swallow what is asked: then it is asked again, by a new one
const MISSED_MAX = 1_000; // more is not told fact by fact, but read anew

export class Live {
	/** How the connection stands. */
	standing = $state<Standing>('off');
	/** The newest position that was seen. */
	position = $state(0);

	#listeners = new Set<Heard>();
	#speaking = new Map<string, Spoken & { thread_id: string }>(); // answers that come just now
	#stream: AbortController | null = null;
	#wait = FIRST_WAIT_MS;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#looking: ReturnType<typeof setInterval> | undefined;
	#heardAt = 0;
	#lookedAt = 0;
	#left = 0;
	#unanswered: ReturnType<typeof setTimeout> | undefined;
	#late = false;
	#greeted: () => void = () => undefined;
	#stillAllowed: () => Promise<unknown>;

	/** `allowed` looks whether this device is still let in; it is asked when the stream is refused. */
	constructor(allowed: () => Promise<unknown>) {
		this.#stillAllowed = allowed;
	}

	/** Hear what happens from now on, and what has come of answers so far; what is returned ends it. */
	listen(heard: Heard): () => void {
		this.#listeners.add(heard);
		for (const [turn_id, { thread_id, text }] of this.#speaking) heard.words?.({ thread_id, turn_id, offset: 0, text });
		return () => this.#listeners.delete(heard);
	}

	/** Begin. When this ends, the stream has begun: whoever reads from then on misses nothing. Or it takes too long: then `again` comes. */
	async start(): Promise<void> {
		if (this.standing !== 'off') return;
		const greeted = new Promise<void>((resolve) => (this.#greeted = resolve));
		void this.#join(early('/api/stream'));
		document.addEventListener('visibilitychange', this.#seen);
		document.addEventListener('resume', this.#woken);
		window.addEventListener('pageshow', this.#woken);
		window.addEventListener('online', this.#woken);
		window.addEventListener('offline', this.#cut);
		this.#lookedAt = Date.now();
		this.#looking = setInterval(() => this.#look(), LOOK_MS);
		await Promise.race([greeted, new Promise((resolve) => setTimeout(resolve, JOIN_MS))]);
		this.#late = !this.position;
	}

	stop(): void {
		this.#close();
		clearInterval(this.#looking);
		this.standing = 'off';
		this.position = 0;
		document.removeEventListener('visibilitychange', this.#seen);
		document.removeEventListener('resume', this.#woken);
		window.removeEventListener('pageshow', this.#woken);
		window.removeEventListener('online', this.#woken);
		window.removeEventListener('offline', this.#cut);
	}

	/** Try now, instead of later. */
	retry(): void {
		this.#wait = FIRST_WAIT_MS;
		this.#lookedAt = Date.now();
		this.#close();
		void this.#join();
	}

	async #join(begun?: Promise<Response>): Promise<void> {
		const stream = (this.#stream = new AbortController());
		this.#heardAt = Date.now();
		this.#unanswered = setTimeout(() => this.retry(), HELLO_MS);
		if (this.standing === 'off') this.standing = 'joining';
		const after = this.position ? `?after=${this.position}` : '';
		try {
			const { signal } = stream;
			const answer = await (begun ?? fetch(`/api/stream${after}`, { signal, cache: 'no-store' }));
			if (answer.status === 401) await this.#stillAllowed();
			else if (answer.ok && answer.body) await heardOf(answer.body, (told) => this.#heard(stream, told), signal);
		} catch {
			// It broke, or was broken off: what follows is the same as when it ends.
		}
		if (stream === this.#stream) this.#broken();
	}

	#heard(stream: AbortController, told: Told[]): void {
		if (stream !== this.#stream) return;
		this.#heardAt = Date.now();
		for (const { event, data } of told) {
			if (event === 'hello') this.#hello(JSON.parse(data));
			else if (event === 'fact') this.#fact(JSON.parse(data));
			else if (event === 'so_far' || event === 'words') this.#words(JSON.parse(data));
			if (stream !== this.#stream) return;
		}
	}

	#hello(hello: { position: number }): void {
		clearTimeout(this.#unanswered);
		this.#speaking.clear();
		const fresh = this.position === 0;
		const missed = hello.position - this.position;
		this.standing = 'live';
		this.#wait = FIRST_WAIT_MS;
		if (fresh) this.position = hello.position;
		this.#greeted();
		if (fresh && this.#late) this.#again();
		if (!fresh && (missed < 0 || missed > MISSED_MAX)) {
			this.position = hello.position;
			this.retry();
			this.#again();
		}
	}

	#again(): void {
		for (const one of this.#listeners) one.again?.();
	}

	#fact(fact: Fact): void {
		if (fact.position <= this.position) return;
		this.position = fact.position;
		for (const one of this.#listeners) one.fact?.(fact);
	}

	#words(words: Words): void {
		const { thread_id, turn_id, text } = words;
		const after = text ? joined(this.#speaking.get(turn_id) ?? spoken(''), words) : null;
		if (after) this.#speaking.set(turn_id, { ...after, thread_id });
		else this.#speaking.delete(turn_id);
		for (const one of this.#listeners) one.words?.(words);
	}

	#broken(): void {
		this.#close();
		if (this.standing === 'off') return;
		this.standing = 'lost';
		this.#timer = setTimeout(() => void this.#join(), this.#wait);
		this.#wait = Math.min(this.#wait * 2, WAIT_MAX_MS);
	}

	#close(): void {
		clearTimeout(this.#timer);
		clearTimeout(this.#unanswered);
		const stream = this.#stream;
		this.#stream = null;
		stream?.abort();
	}

	/** A clock that jumped means that all of it slept; a stream without a beat is dead, whatever the network says. */
	#look(): void {
		const now = Date.now();
		const slept = now - this.#lookedAt > LOOK_MS + ASLEEP_MS;
		this.#lookedAt = now;
		if (slept || (this.#stream && now - this.#heardAt > SILENCE_MS)) this.retry();
	}

	#seen = (): void => {
		if (document.visibilityState === 'hidden') this.#left = Date.now();
		else if (this.standing === 'lost' || Date.now() - this.#left > ASLEEP_MS) this.retry();
	};

	#woken = (event: Event): void => {
		if (event.type !== 'pageshow' || (event as PageTransitionEvent).persisted) this.retry();
	};

	#cut = (): void => this.#broken();
}
