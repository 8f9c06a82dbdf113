/**
 * State of the thread page: a snapshot from the server, plus the facts recorded since.
 *
 * It keeps a bounded window of messages. Older ones are shown as summaries, or loaded on scrolling.
 */
import { api, toApiError, unwrap, type ApiError } from '$lib/api/client';
import { toIsoDay } from '$lib/format/days';
import type { EventStream } from '$lib/live/event-stream.svelte';
import { applyDelta, streamedText, type Fact, type StreamedText, type TextDelta } from '$lib/live/fact';
import { toasts } from '$lib/ui';
import { TIERS, type Band, type BranchInfo, type Message, type PendingAnswer, type Period, type Row, type Turn } from '../types';
import { endedTurnId, messageFromFact, reduceTurn } from './fact-reducer';
import { outbox } from './outbox.svelte';
import { allRows, collapsedPeriods, historyRows, insertMessage, withSuggestions, withTasks } from './rows';
import { ThreadTasks } from './thread-tasks.svelte';
import { readSnapshot, saveSnapshot } from './snapshots';

const NOT_FOUND = 404;
const PAGE = 60;
const PAGE_MAX = 500; // of one response
const MESSAGES_MAX = 500; // in the window; messages outside it are loaded again when needed
const DEBOUNCE_MS = 60; // one reload for the several facts of one action
const SAVE_AFTER_MS = 400;
const PAINT_EVERY_MS = 30; // every second frame, which leaves the other one for typing

export class ThreadState {
	messages = $state.raw<Message[]>([]);
	pendingAnswers = $state.raw<PendingAnswer[]>([]);
	periods = $state.raw<Period[]>([]);
	branches = $state.raw<BranchInfo[]>([]);
	ready = $state(false);
	error = $state<ApiError | null>(null);
	earlier = $state(false);
	later = $state(false);
	/** True while rows are added or removed at the top: the list then keeps its scroll position from the end. */
	prepending = $state(false);

	#tasks: ThreadTasks;
	#history = $derived.by<Row[]>(() => withSuggestions(withTasks(historyRows(this.periods, this.messages), this.#tasks.list), this.#tasks.suggestions));
	#rows = $derived.by<Row[]>(() => allRows(this.#history, this.pendingAnswers, outbox.of(this.threadId)));
	#bands: Band[] = [];
	#factsSinceLoad: Fact[] | null = null;
	#streamed = new Map<string, StreamedText>(); // text received for turns that have not ended
	#thoughts = new Map<string, StreamedText>(); // and what their models thought
	#frame = 0;
	#shownAt = 0;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#saveTimer: ReturnType<typeof setTimeout> | undefined;
	#loadingMore = false;

	constructor(readonly threadId: string) {
		this.#tasks = new ThreadTasks(threadId);
	}

	/** Load the thread and follow it. Returns a function that unsubscribes. */
	follow(events: EventStream, at: { message?: string; day?: string } = {}): () => void {
		void this.load(at);
		const unfollowTasks = this.#tasks.follow();
		const unsubscribe = events.listen({
			reset: () => this.#reloadSoon(),
			fact: (fact) => this.#onFact(fact),
			delta: (delta) => this.#appendDelta(delta)
		});
		return () => {
			unsubscribe();
			unfollowTasks();
			clearTimeout(this.#timer);
			clearTimeout(this.#saveTimer);
			cancelAnimationFrame(this.#frame);
		};
	}

	/** Send a message to a running task, or to none (empty). */
	route(messageId: string, taskId: string): Promise<boolean> {
		return this.#tasks.route(messageId, taskId);
	}

	/** The rows of the page, in order. */
	get rows(): Row[] {
		return this.#rows;
	}

	/** The id of the current branch. */
	get branch(): string {
		return this.branches.find((info) => info.standing)?.branch ?? `thread:${this.threadId}`;
	}

	/** The turn that is being answered now, if any. */
	get currentTurn(): Turn | undefined {
		return this.pendingAnswers[0]?.turn;
	}

	get empty(): boolean {
		return this.ready && !this.rows.length && !this.earlier;
	}

	/** Load the thread again: the newest messages, or those around a message or a day. */
	async load(at: { message?: string; day?: string } = {}): Promise<void> {
		this.#factsSinceLoad = [];
		const path = { thread_id: this.threadId };
		try {
			const [page, turns, bands, branches] = await Promise.all([
				this.#fetchAround(at.message),
				unwrap(api.GET('/api/threads/{thread_id}/turns', { params: { path } })),
				unwrap(api.GET('/api/threads/{thread_id}/timeline', { params: { path, query: { tier: TIERS } } })),
				unwrap(api.GET('/api/threads/{thread_id}/branches', { params: { path } }))
			]);
			this.#bands = bands;
			this.branches = branches;
			const before = this.periods;
			this.#setPage(page);
			this.#restoreTurns(turns);
			await this.#reopenPeriods(before, this.periods);
			this.error = null;
			this.ready = true;
			this.#saveSoon();
		} catch (error) {
			this.error = toApiError(error);
			if (this.error.unreached && !this.ready) await this.#restoreSnapshot();
			if (this.error.status === NOT_FOUND) this.ready = false; // it was deleted
		}
		const since = this.#factsSinceLoad ?? [];
		this.#factsSinceLoad = null;
		for (const fact of since) this.#onFact(fact);
		if (at.day) await this.expandDay(at.day);
		void outbox.send();
	}

	/** Without a connection: show the messages that were last seen here. The stream reloads the page once it is back. */
	async #restoreSnapshot(): Promise<void> {
		const snapshot = await readSnapshot(this.threadId);
		if (this.ready || (!snapshot && !outbox.of(this.threadId).length)) return;
		this.messages = snapshot?.messages ?? [];
		this.branches = snapshot?.branches ?? [];
		this.ready = true;
	}

	/** Keep the newest messages for use without a connection, a moment after they changed. */
	#saveSoon(): void {
		if (this.later) return; // the window is in the past
		clearTimeout(this.#saveTimer);
		this.#saveTimer = setTimeout(() => void saveSnapshot(this.threadId, this), SAVE_AFTER_MS);
	}

	/** Load messages before the first one in the window. */
	async loadEarlier(): Promise<void> {
		const first = this.messages[0];
		if (!this.earlier || !first || this.#loadingMore) return;
		await this.#loadMore(async () => {
			const page = await this.#fetchPage(first.message_id, 'before');
			this.prepending = true;
			const all = [...page.messages, ...this.messages];
			const kept = all.slice(0, MESSAGES_MAX);
			this.later ||= kept.length < all.length;
			this.#setPage({ messages: kept, earlier: page.earlier, later: this.later });
		});
	}

	/** Load messages after the last one in the window. */
	async loadLater(): Promise<void> {
		const last = this.messages.at(-1);
		if (!this.later || !last || this.#loadingMore) return;
		await this.#loadMore(async () => {
			const page = await this.#fetchPage(last.message_id, 'after');
			const all = [...this.messages, ...page.messages];
			const over = Math.max(0, all.length - MESSAGES_MAX);
			this.prepending = over > 0;
			this.#setPage({ messages: all.slice(over), earlier: this.earlier || over > 0, later: page.later });
		});
	}

	/** Expand or collapse a period. */
	async togglePeriod(period: Period): Promise<void> {
		if (!period.open && !period.below.length && !period.messages.length) {
			const path = { thread_id: this.threadId, key: period.band.key };
			try {
				const closer = await unwrap(api.GET('/api/threads/{thread_id}/windows/{key}', { params: { path } }));
				period.below = closer.below.map((band) => ({ band, open: false, below: [], messages: [] }));
				period.messages = closer.messages;
			} catch (error) {
				toasts.error(toApiError(error));
				return;
			}
		}
		period.open = !period.open;
		this.periods = [...this.periods];
	}

	/** Expand periods down to a day. Returns whether the thread has that day. */
	async expandDay(day: string): Promise<boolean> {
		let candidates = this.periods;
		for (;;) {
			const period = candidates.find(({ band }) => band.first <= day && day < band.until);
			if (!period) return this.messages.some((message) => toIsoDay(message.said_at) === day);
			if (!period.open) await this.togglePeriod(period);
			if (!period.open || !period.below.length) return period.open;
			candidates = period.below;
		}
	}

	async #fetchAround(around: string | undefined): Promise<{ messages: Message[]; earlier: boolean; later: boolean }> {
		if (!around) return this.#refetchWindow();
		const [before, after, one] = await Promise.all([
			this.#fetchPage(around, 'before'),
			this.#fetchPage(around, 'after'),
			unwrap(api.GET('/api/messages/{message_id}', { params: { path: { message_id: around } } }))
		]);
		const messages = [...before.messages, one, ...after.messages];
		return { messages, earlier: before.earlier, later: after.later };
	}

	/** Reload the current window, so that the scroll position in the past stays valid. */
	async #refetchWindow(): Promise<{ messages: Message[]; earlier: boolean; later: boolean }> {
		const limit = Math.min(PAGE_MAX, Math.max(PAGE, this.messages.length));
		const first = this.messages[0];
		if (!this.later || !first) return this.#fetchPage(undefined, 'before', limit);
		const page = await this.#fetchPage(first.message_id, 'after', limit);
		return { ...page, messages: [first, ...page.messages], earlier: this.earlier };
	}

	/** Expand the periods again that were expanded before the reload. */
	async #reopenPeriods(before: Period[], now: Period[]): Promise<void> {
		for (const old of before.filter((period) => period.open)) {
			const period = now.find((one) => one.band.key === old.band.key);
			if (!period) continue;
			await this.togglePeriod(period);
			await this.#reopenPeriods(old.below, period.below);
		}
	}

	#fetchPage(at: string | undefined, way: 'before' | 'after', limit = PAGE) {
		const query = { way, limit, ...(at ? { at } : {}) };
		const path = { thread_id: this.threadId };
		return unwrap(api.GET('/api/threads/{thread_id}/messages', { params: { path, query } }));
	}

	#setPage(page: { messages: Message[]; earlier: boolean; later: boolean }): void {
		if (!this.#loadingMore || !this.periods.length) this.periods = collapsedPeriods(this.#bands, page.messages[0]);
		const until = this.periods.at(-1)?.band.until ?? '';
		const inFull = page.messages.filter((message) => toIsoDay(message.said_at) >= until);
		this.messages = inFull;
		this.earlier = page.earlier && inFull.length === page.messages.length;
		this.later = page.later;
	}

	async #loadMore(load: () => Promise<void>): Promise<void> {
		this.#loadingMore = true;
		try {
			await load();
		} catch (error) {
			this.error = toApiError(error);
		} finally {
			this.#loadingMore = false;
			requestAnimationFrame(() => (this.prepending = false));
		}
	}

	#restoreTurns(turns: Turn[]): void {
		const existing = new Map(this.pendingAnswers.map((one) => [one.turn.turn_id, one.text]));
		this.pendingAnswers = turns.map((turn) => {
			const received = this.#streamed.get(turn.turn_id)?.text ?? existing.get(turn.turn_id) ?? '';
			return { turn, text: received.length > turn.saved.length ? received : turn.saved };
		});
	}

	#reloadSoon(): void {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => void this.load(), DEBOUNCE_MS);
	}

	#onFact(fact: Fact): void {
		this.#factsSinceLoad?.push(fact);
		if (fact.kind === 'log.retracted' || fact.kind === 'log.purged') this.#reloadSoon();
		else if (fact.kind === 'log.branch_forked') this.#onBranchForked(fact);
		else if (fact.kind === 'log.branch_stood') this.#onBranchSwitched(fact);
		else if (fact.stream === `thread:${this.threadId}` && fact.branch === this.branch) this.#applyFact(fact);
	}

	/** Another branch became current: reload if it is one of this thread. */
	#onBranchSwitched(fact: Fact): void {
		const branch = String(fact.data?.branch ?? '');
		const target = this.branches.find((info) => info.branch === branch);
		if (!target) return;
		if (target.parent === this.branch && !target.newest) this.#truncate(target.at);
		this.branches = this.branches.map((info) => ({ ...info, standing: info.branch === branch }));
		this.#reloadSoon();
	}

	/** Remove messages after the position where a new branch forked off. */
	#truncate(at: number): void {
		this.messages = this.messages.filter((message) => message.position <= at);
		this.pendingAnswers = [];
	}

	#onBranchForked(fact: Fact): void {
		const { branch, parent, at } = fact.data as { branch: string; parent: string; at: number };
		if (!this.branches.some((info) => info.branch === parent)) return;
		this.branches = [...this.branches, { branch, parent, at, standing: false, left_after: '', newest: null, own: 0 }];
	}

	#applyFact(fact: Fact): void {
		const message = this.#messageFrom(fact);
		if (message) {
			void outbox.confirm(message.message_id);
			const reasoned = this.#thoughts.has(message.turn_id);
			if (!this.later) this.messages = insertMessage(this.messages, { ...message, reasoned });
			this.#saveSoon();
		}
		const ended = endedTurnId(fact);
		if (ended) {
			this.#thoughts.delete(ended);
			this.pendingAnswers = this.pendingAnswers.filter((one) => one.turn.turn_id !== ended);
			this.#streamed.delete(ended);
		}
		this.#applyToTurn(fact);
		if (/^thread\.message_(un)?hidden$/.test(fact.kind)) this.#applyHidden(fact);
		if (fact.kind === 'thread.message_imported') this.#reloadSoon();
	}

	#messageFrom(fact: Fact): Message | null {
		const turn = this.pendingAnswers.find((one) => one.turn.turn_id === endedTurnId(fact))?.turn;
		const question = this.messages.findLast((message) => message.message_id === turn?.message_id);
		return messageFromFact(fact, turn, question);
	}

	#applyToTurn(fact: Fact): void {
		const turnId = String(fact.data?.turn_id ?? '');
		const existing = this.pendingAnswers.find((one) => one.turn.turn_id === turnId);
		const turn = reduceTurn(existing?.turn, fact);
		if (!turn) return;
		this.pendingAnswers = existing
			? this.pendingAnswers.map((one) => (one === existing ? { ...one, turn, text: this.#streamed.get(turnId)?.text ?? one.text } : one))
			: [...this.pendingAnswers, { turn, text: this.#streamed.get(turnId)?.text ?? '' }]; // text may arrive before the turn's first fact
	}

	#applyHidden(fact: Fact): void {
		const hidden = fact.kind === 'thread.message_hidden';
		this.messages = this.messages.map((message) =>
			message.message_id === fact.data?.message_id ? { ...message, hidden } : message
		);
	}

	/** Collect streamed text and paint it at a fixed rate, so that typing stays smooth however fast it arrives. */
	#appendDelta(delta: TextDelta): void {
		if (delta.thread_id !== this.threadId || !delta.text) return;
		if (delta.thought) return this.#appendThought(delta);
		const existing = this.pendingAnswers.find((one) => one.turn.turn_id === delta.turn_id);
		const before = this.#streamed.get(delta.turn_id) ?? streamedText(existing?.text ?? '');
		const after = applyDelta(before, delta);
		if (after === null) return this.#reloadSoon();
		this.#streamed.set(delta.turn_id, after);
		this.#frame ||= requestAnimationFrame(this.#showStreamed);
	}

	#appendThought(delta: TextDelta): void {
		const after = applyDelta(this.#thoughts.get(delta.turn_id) ?? streamedText(''), delta);
		if (after === null) return; // the log has all of it when the answer ends
		this.#thoughts.set(delta.turn_id, after);
		this.#frame ||= requestAnimationFrame(this.#showStreamed);
	}

	#showStreamed = (now: number): void => {
		if (now - this.#shownAt < PAINT_EVERY_MS) {
			this.#frame = requestAnimationFrame(this.#showStreamed);
			return;
		}
		this.#frame = 0;
		this.#shownAt = now;
		this.pendingAnswers = this.pendingAnswers.map((one) => {
			const text = this.#streamed.get(one.turn.turn_id)?.text ?? one.text;
			const thought = this.#thoughts.get(one.turn.turn_id)?.text ?? one.thought ?? '';
			return text === one.text && thought === one.thought ? one : { ...one, text, thought };
		});
	};
}
