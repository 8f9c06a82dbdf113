/**
 * One conversation as the page shows it: a snapshot, and the facts since.
 *
 * It holds a bounded stretch of messages. What lies before is folded as the pyramid folds it, or read when one scrolls there.
 */
import { api, problemOf, told, type Problem } from '$lib/api/client';
import { joined, spoken, type Fact, type Spoken, type Words } from '$lib/live/fact';
import type { Live } from '$lib/live/event-stream.svelte';
import { toasts } from '$lib/ui';
import { dayOf } from '$lib/format/days';
import { endedIn, messageIn, turnAfter } from './fact-reducer';
import { Outbox } from './outbox.svelte';
import { foldsBefore, pastRows, rowsOf, withMessage } from './rows';
import { TIERS, type Band, type Coming, type Fold, type Line, type Message, type Row, type Turn } from '../types';

const PAGE = 60;
const ASKED_MAX = 500; // the engine gives no more at once
const KEPT_MAX = 500; // messages at hand; those far away are let go and read again when needed
const SETTLE_MS = 60; // several facts of one act are read as one
const SHOWN_MS = 30; // words are shown in every second frame; what is typed has the other one

export class ThreadView {
	messages = $state.raw<Message[]>([]);
	coming = $state.raw<Coming[]>([]);
	folds = $state.raw<Fold[]>([]);
	lines = $state.raw<Line[]>([]);
	ready = $state(false);
	problem = $state<Problem | null>(null);
	earlier = $state(false);
	later = $state(false);
	/** True while rows are added or taken away at the top: the list then keeps its place from the end. */
	shifting = $state(false);
	readonly outbox: Outbox;

	#past = $derived.by<Row[]>(() => pastRows(this.folds, this.messages));
	#rows = $derived.by<Row[]>(() => rowsOf(this.#past, this.coming, this.outbox.letters));
	#bands: Band[] = [];
	#since: Fact[] | null = null;
	#spoken = new Map<string, Spoken>(); // what was heard of turns that have not ended
	#frame = 0;
	#shownAt = 0;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#reading = false;

	constructor(readonly threadId: string) {
		this.outbox = new Outbox(threadId);
	}

	/** Read it and follow it; what is returned ends it. */
	follow(live: Live, at: { message?: string; day?: string } = {}): () => void {
		void this.read(at);
		const leave = live.listen({
			again: () => this.#soon(),
			fact: (fact) => this.#happened(fact),
			words: (words) => this.#heard(words)
		});
		return () => {
			leave();
			clearTimeout(this.#timer);
			cancelAnimationFrame(this.#frame);
		};
	}

	/** What the page shows, in order. */
	get rows(): Row[] {
		return this.#rows;
	}

	/** The branch that it stands on. */
	get branch(): string {
		return this.lines.find((line) => line.standing)?.branch ?? `thread:${this.threadId}`;
	}

	/** The turn that is answered just now, if one is. */
	get answering(): Turn | undefined {
		return this.coming[0]?.turn;
	}

	get empty(): boolean {
		return this.ready && !this.rows.length && !this.earlier;
	}

	/** Read it anew: the end of it, or around a message or a day. */
	async read(at: { message?: string; day?: string } = {}): Promise<void> {
		this.#since = [];
		const path = { thread_id: this.threadId };
		try {
			const [page, turns, bands, lines] = await Promise.all([
				this.#page(at.message),
				told(api.GET('/api/threads/{thread_id}/turns', { params: { path } })),
				told(api.GET('/api/threads/{thread_id}/timeline', { params: { path, query: { tier: TIERS } } })),
				told(api.GET('/api/threads/{thread_id}/branches', { params: { path } }))
			]);
			this.#bands = bands;
			this.lines = lines;
			const before = this.folds;
			this.#take(page);
			this.#resume(turns);
			await this.#reopen(before, this.folds);
			this.problem = null;
			this.ready = true;
		} catch (error) {
			this.problem = problemOf(error);
		}
		const since = this.#since ?? [];
		this.#since = null;
		for (const fact of since) this.#happened(fact);
		if (at.day) await this.openDay(at.day);
		void this.outbox.send();
	}

	/** Read what comes before the first message at hand. */
	async readEarlier(): Promise<void> {
		const first = this.messages[0];
		if (!this.earlier || !first || this.#reading) return;
		await this.#more(async () => {
			const page = await this.#asked(first.message_id, 'before');
			this.shifting = true;
			const all = [...page.messages, ...this.messages];
			const kept = all.slice(0, KEPT_MAX);
			this.later ||= kept.length < all.length;
			this.#take({ messages: kept, earlier: page.earlier, later: this.later });
		});
	}

	/** Read what comes after the last message at hand. */
	async readLater(): Promise<void> {
		const last = this.messages.at(-1);
		if (!this.later || !last || this.#reading) return;
		await this.#more(async () => {
			const page = await this.#asked(last.message_id, 'after');
			const all = [...this.messages, ...page.messages];
			const over = Math.max(0, all.length - KEPT_MAX);
			this.shifting = over > 0;
			this.#take({ messages: all.slice(over), earlier: this.earlier || over > 0, later: page.later });
		});
	}

	/** Unfold a window of the past, or fold it again. */
	async unfold(fold: Fold): Promise<void> {
		if (!fold.open && !fold.below.length && !fold.messages.length) {
			const path = { thread_id: this.threadId, key: fold.band.key };
			try {
				const closer = await told(api.GET('/api/threads/{thread_id}/windows/{key}', { params: { path } }));
				fold.below = closer.below.map((band) => ({ band, open: false, below: [], messages: [] }));
				fold.messages = closer.messages;
			} catch (error) {
				toasts.trouble(problemOf(error));
				return;
			}
		}
		fold.open = !fold.open;
		this.folds = [...this.folds];
	}

	/** Unfold all the way down to a day; whether there is such a day. */
	async openDay(day: string): Promise<boolean> {
		let among = this.folds;
		for (;;) {
			const fold = among.find(({ band }) => band.first <= day && day < band.until);
			if (!fold) return this.messages.some((message) => dayOf(message.said_at) === day);
			if (!fold.open) await this.unfold(fold);
			if (!fold.open || !fold.below.length) return fold.open;
			among = fold.below;
		}
	}

	// -- inside ----------------------------------------------------------------------------------

	async #page(around: string | undefined): Promise<{ messages: Message[]; earlier: boolean; later: boolean }> {
		if (!around) return this.#same();
		const [before, after, one] = await Promise.all([
			this.#asked(around, 'before'),
			this.#asked(around, 'after'),
			told(api.GET('/api/messages/{message_id}', { params: { path: { message_id: around } } }))
		]);
		const messages = [...before.messages, one, ...after.messages];
		return { messages, earlier: before.earlier, later: after.later };
	}

	/** The stretch that is at hand, as it is now: whoever reads in the past stays there. */
	async #same(): Promise<{ messages: Message[]; earlier: boolean; later: boolean }> {
		const limit = Math.min(ASKED_MAX, Math.max(PAGE, this.messages.length));
		const first = this.messages[0];
		if (!this.later || !first) return this.#asked(undefined, 'before', limit);
		const page = await this.#asked(first.message_id, 'after', limit);
		return { ...page, messages: [first, ...page.messages], earlier: this.earlier };
	}

	/** Windows that were open are opened again, with what they hold now. */
	async #reopen(before: Fold[], now: Fold[]): Promise<void> {
		for (const old of before.filter((fold) => fold.open)) {
			const fold = now.find((one) => one.band.key === old.band.key);
			if (!fold) continue;
			await this.unfold(fold);
			await this.#reopen(old.below, fold.below);
		}
	}

	#asked(at: string | undefined, way: 'before' | 'after', limit = PAGE) {
		const query = { way, limit, ...(at ? { at } : {}) };
		const path = { thread_id: this.threadId };
		return told(api.GET('/api/threads/{thread_id}/messages', { params: { path, query } }));
	}

	#take(page: { messages: Message[]; earlier: boolean; later: boolean }): void {
		if (!this.#reading || !this.folds.length) this.folds = foldsBefore(this.#bands, page.messages[0]);
		const until = this.folds.at(-1)?.band.until ?? '';
		const inFull = page.messages.filter((message) => dayOf(message.said_at) >= until);
		this.messages = inFull;
		this.earlier = page.earlier && inFull.length === page.messages.length;
		this.later = page.later;
	}

	async #more(read: () => Promise<void>): Promise<void> {
		this.#reading = true;
		try {
			await read();
		} catch (error) {
			this.problem = problemOf(error);
		} finally {
			this.#reading = false;
			requestAnimationFrame(() => (this.shifting = false));
		}
	}

	#resume(turns: Turn[]): void {
		const known = new Map(this.coming.map((one) => [one.turn.turn_id, one.text]));
		this.coming = turns.map((turn) => {
			const heard = this.#spoken.get(turn.turn_id)?.text ?? known.get(turn.turn_id) ?? '';
			return { turn, text: heard.length > turn.saved.length ? heard : turn.saved };
		});
	}

	#soon(): void {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => void this.read(), SETTLE_MS);
	}

	#happened(fact: Fact): void {
		this.#since?.push(fact);
		if (fact.kind === 'log.retracted' || fact.kind === 'log.purged') this.#soon();
		else if (fact.kind === 'log.branch_forked') this.#forked(fact);
		else if (fact.kind === 'log.branch_stood') this.#stood(fact);
		else if (fact.stream === `thread:${this.threadId}` && fact.branch === this.branch) this.#fold(fact);
	}

	/** It went to another branch: an own one is read anew, those of other threads do not matter here. */
	#stood(fact: Fact): void {
		const branch = String(fact.data?.branch ?? '');
		const stood = this.lines.find((line) => line.branch === branch);
		if (!stood) return;
		if (stood.parent === this.branch && !stood.newest) this.#cut(stood.at);
		this.lines = this.lines.map((line) => ({ ...line, standing: line.branch === branch }));
		this.#soon();
	}

	/** A new branch begins with what was there before it left: what came later is gone at once. */
	#cut(at: number): void {
		this.messages = this.messages.filter((message) => message.position <= at);
		this.coming = [];
	}

	#forked(fact: Fact): void {
		const { branch, parent, at } = fact.data as { branch: string; parent: string; at: number };
		if (!this.lines.some((line) => line.branch === parent)) return;
		this.lines = [...this.lines, { branch, parent, at, standing: false, left_after: '', newest: null, own: 0 }];
	}

	#fold(fact: Fact): void {
		const message = messageIn(fact);
		if (message) {
			this.outbox.arrived(message.message_id);
			if (!this.later) this.messages = withMessage(this.messages, message);
		}
		const ended = endedIn(fact);
		if (ended) {
			this.coming = this.coming.filter((one) => one.turn.turn_id !== ended);
			this.#spoken.delete(ended);
		}
		this.#advance(fact);
		if (/^thread\.message_(un)?hidden$/.test(fact.kind)) this.#hide(fact);
		if (fact.kind === 'thread.message_imported') this.#soon();
	}

	#advance(fact: Fact): void {
		const turnId = String(fact.data?.turn_id ?? '');
		const known = this.coming.find((one) => one.turn.turn_id === turnId);
		const turn = turnAfter(known?.turn, fact);
		if (!turn) return;
		this.coming = known
			? this.coming.map((one) => (one === known ? { turn, text: this.#spoken.get(turnId)?.text ?? one.text } : one))
			: [...this.coming, { turn, text: this.#spoken.get(turnId)?.text ?? '' }]; // its words may be quicker
	}

	#hide(fact: Fact): void {
		const hidden = fact.kind === 'thread.message_hidden';
		this.messages = this.messages.map((message) =>
			message.message_id === fact.data?.message_id ? { ...message, hidden } : message
		);
	}

	/** Words are put together and shown at once with others: however fast they come, typing stays smooth. */
	#heard(words: Words): void {
		if (words.thread_id !== this.threadId || !words.text) return;
		const known = this.coming.find((one) => one.turn.turn_id === words.turn_id);
		const before = this.#spoken.get(words.turn_id) ?? spoken(known?.text ?? '');
		const after = joined(before, words);
		if (after === null) return this.#soon();
		this.#spoken.set(words.turn_id, after);
		this.#frame ||= requestAnimationFrame(this.#show);
	}

	#show = (now: number): void => {
		if (now - this.#shownAt < SHOWN_MS) {
			this.#frame = requestAnimationFrame(this.#show);
			return;
		}
		this.#frame = 0;
		this.#shownAt = now;
		this.coming = this.coming.map((one) => {
			const text = this.#spoken.get(one.turn.turn_id)?.text;
			return text === undefined ? one : { ...one, text };
		});
	};
}
