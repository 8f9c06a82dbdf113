/**
 * The event stream of the page: facts and streamed text. It reconnects automatically and resumes at the last position.
 *
 * A page loads a snapshot, then listens here. Facts missed during a disconnect are replayed by position; `reset` says that this was not
 * possible and that the page should reload its data.
 */
import { keyHeaders } from '$lib/api/device-key.svelte';
import { takePrefetched } from '$lib/api/prefetch';
import { applyDelta, streamedText, type Fact, type StreamedText, type TextDelta } from './fact';
import { readEvents, type ServerEvent } from './sse-parser';

export type ConnectionStatus = 'off' | 'connecting' | 'live' | 'lost';
type Listener = {
	fact?: (fact: Fact) => void;
	delta?: (delta: TextDelta) => void;
	reset?: () => void;
};

const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 15_000;
const SLEEP_MIN_MS = 5_000;
const CHECK_EVERY_MS = 5_000;
const SILENCE_MAX_MS = 40_000; // the server sends a heartbeat every fifteen seconds: two were missed
const START_WAIT_MAX_MS = 1_000; // `start` does not wait longer than this
const HELLO_WAIT_MAX_MS = 4_000; // a stale connection may swallow the request: then it is sent again over a new one
const REPLAY_MAX = 1_000; // after more facts than this, pages reload instead

export class EventStream {
	/** The state of the connection. */
	status = $state<ConnectionStatus>('off');
	/** The newest position received. */
	position = $state(0);

	#listeners = new Set<Listener>();
	#streaming = new Map<string, StreamedText & { thread_id: string }>(); // answers being streamed now
	#thinking = new Map<string, StreamedText & { thread_id: string }>(); // and the reasoning before them
	#stream: AbortController | null = null;
	#retryDelay = RETRY_FIRST_MS;
	#retryTimer: ReturnType<typeof setTimeout> | undefined;
	#watchdog: ReturnType<typeof setInterval> | undefined;
	#receivedAt = 0;
	#checkedAt = 0;
	#hiddenAt = 0;
	#helloTimer: ReturnType<typeof setTimeout> | undefined;
	#startedLate = false;
	#onHello: () => void = () => undefined;
	#checkSession: () => Promise<unknown>;

	/** `checkSession` finds out whether this device is still signed in; called when the stream is refused. */
	constructor(checkSession: () => Promise<unknown>) {
		this.#checkSession = checkSession;
	}

	/** Receive events from now on, and the text of unfinished answers so far. Returns a function that unsubscribes. */
	listen(listener: Listener): () => void {
		this.#listeners.add(listener);
		for (const [turn_id, { thread_id, text }] of this.#thinking) listener.delta?.({ thread_id, turn_id, offset: 0, text, thought: true });
		for (const [turn_id, { thread_id, text }] of this.#streaming) listener.delta?.({ thread_id, turn_id, offset: 0, text });
		return () => this.#listeners.delete(listener);
	}

	/** Connect. Data loaded after this resolves misses no event. If connecting takes too long, `reset` is called later. */
	async start(): Promise<void> {
		if (this.status !== 'off') return;
		const hello = new Promise<void>((resolve) => (this.#onHello = resolve));
		void this.#connect(takePrefetched('/api/stream'));
		document.addEventListener('visibilitychange', this.#onVisibility);
		document.addEventListener('resume', this.#onWake);
		window.addEventListener('pageshow', this.#onWake);
		window.addEventListener('online', this.#onWake);
		window.addEventListener('offline', this.#onOffline);
		this.#checkedAt = Date.now();
		this.#watchdog = setInterval(() => this.#checkAlive(), CHECK_EVERY_MS);
		await Promise.race([hello, new Promise((resolve) => setTimeout(resolve, START_WAIT_MAX_MS))]);
		this.#startedLate = !this.position;
	}

	stop(): void {
		this.#close();
		clearInterval(this.#watchdog);
		this.status = 'off';
		this.position = 0;
		document.removeEventListener('visibilitychange', this.#onVisibility);
		document.removeEventListener('resume', this.#onWake);
		window.removeEventListener('pageshow', this.#onWake);
		window.removeEventListener('online', this.#onWake);
		window.removeEventListener('offline', this.#onOffline);
	}

	/** Reconnect now. */
	retry(): void {
		this.#retryDelay = RETRY_FIRST_MS;
		this.#checkedAt = Date.now();
		this.#close();
		void this.#connect();
	}

	async #connect(prefetched?: Promise<Response>): Promise<void> {
		const stream = (this.#stream = new AbortController());
		this.#receivedAt = Date.now();
		this.#helloTimer = setTimeout(() => this.retry(), HELLO_WAIT_MAX_MS);
		if (this.status === 'off') this.status = 'connecting';
		const after = this.position ? `?after=${this.position}` : '';
		try {
			const { signal } = stream;
			const answer = await (prefetched ?? fetch(`/api/stream${after}`, { signal, cache: 'no-store', headers: keyHeaders() }));
			if (answer.status === 401) await this.#checkSession();
			else if (answer.ok && answer.body) await readEvents(answer.body, (events) => this.#receive(stream, events), signal);
		} catch {
			// Broken or aborted: handled like the end of the stream.
		}
		if (stream === this.#stream) this.#disconnect();
	}

	#receive(stream: AbortController, events: ServerEvent[]): void {
		if (stream !== this.#stream) return;
		this.#receivedAt = Date.now();
		for (const { event, data } of events) {
			if (event === 'hello') this.#hello(JSON.parse(data));
			else if (event === 'fact') this.#fact(JSON.parse(data));
			else if (event === 'so_far' || event === 'words') this.#delta(JSON.parse(data));
			if (stream !== this.#stream) return;
		}
	}

	#hello(hello: { position: number }): void {
		clearTimeout(this.#helloTimer);
		this.#streaming.clear();
		this.#thinking.clear();
		const fresh = this.position === 0;
		const missed = hello.position - this.position;
		this.status = 'live';
		this.#retryDelay = RETRY_FIRST_MS;
		if (fresh) this.position = hello.position;
		this.#onHello();
		if (fresh && this.#startedLate) this.#reset();
		if (!fresh && (missed < 0 || missed > REPLAY_MAX)) {
			this.position = hello.position;
			this.retry();
			this.#reset();
		}
	}

	#reset(): void {
		for (const listener of this.#listeners) listener.reset?.();
	}

	#fact(fact: Fact): void {
		if (fact.position <= this.position) return;
		this.position = fact.position;
		for (const listener of this.#listeners) listener.fact?.(fact);
	}

	#delta(delta: TextDelta): void {
		const { thread_id, turn_id, text } = delta;
		const received = delta.thought ? this.#thinking : this.#streaming;
		const after = text ? applyDelta(received.get(turn_id) ?? streamedText(''), delta) : null;
		if (after) received.set(turn_id, { ...after, thread_id });
		else received.delete(turn_id);
		if (!text) this.#thinking.delete(turn_id);
		for (const listener of this.#listeners) listener.delta?.(delta);
	}

	#disconnect(): void {
		this.#close();
		if (this.status === 'off') return;
		this.status = 'lost';
		this.#retryTimer = setTimeout(() => void this.#connect(), this.#retryDelay);
		this.#retryDelay = Math.min(this.#retryDelay * 2, RETRY_MAX_MS);
	}

	#close(): void {
		clearTimeout(this.#retryTimer);
		clearTimeout(this.#helloTimer);
		const stream = this.#stream;
		this.#stream = null;
		stream?.abort();
	}

	/** A jump of the clock means that the device slept; a stream without heartbeats is dead, whatever the network says. */
	#checkAlive(): void {
		const now = Date.now();
		const wasAsleep = now - this.#checkedAt > CHECK_EVERY_MS + SLEEP_MIN_MS;
		this.#checkedAt = now;
		if (wasAsleep || (this.#stream && now - this.#receivedAt > SILENCE_MAX_MS)) this.retry();
	}

	#onVisibility = (): void => {
		if (document.visibilityState === 'hidden') this.#hiddenAt = Date.now();
		else if (this.status === 'lost' || Date.now() - this.#hiddenAt > SLEEP_MIN_MS) this.retry();
	};

	#onWake = (event: Event): void => {
		if (event.type !== 'pageshow' || (event as PageTransitionEvent).persisted) this.retry();
	};

	#onOffline = (): void => this.#disconnect();
}
