/** The inbox page: everything that waits for a person, kept up to date, and their answers. */
import { SvelteMap, SvelteSet } from 'svelte/reactivity';
import { api, toApiError, unwrap, type ApiError, type Schema } from '$lib/api/client';
import { RetryingRequest } from '$lib/api/retrying-request';
import { Query } from '$lib/live/query.svelte';
import { reloadOn } from '$lib/live/reload-on';
import { toasts } from '$lib/ui';
import { toActionError, tryAction } from '$lib/ui/feedback/try-action';
import type { InboxRequest } from './requests';

export type QuestionAnswer = Schema<'AnswerIn'>;
type Overview = { inbox: Schema<'InboxOut'>; running: Schema<'WorkerTaskOut'>[] };
const CONFLICT = 409;

export class Inbox {
	query = new Query<Overview>();
	busy = $state('');
	/** Why the last answer to a request was not taken. */
	errors = new SvelteMap<string, ApiError>();
	#request = new RetryingRequest();
	/** Requests that were open when this page showed them; closed ones stay in place, with their receipt. */
	#shown = new SvelteMap<string, InboxRequest>();
	#unread = new SvelteSet<string>();

	/** With a subject, such as `task:tsk-1`, only the requests about it. */
	constructor(readonly subject = '') {}

	needsYou = $derived(this.#inPlace('needs_you', this.query.data?.inbox.needs_you ?? []));
	failed = $derived(this.#inPlace('failed', this.query.data?.inbox.failed ?? []));
	finished = $derived(this.#inPlace('finished', this.query.data?.inbox.finished ?? []));
	snoozed = $derived(this.query.data?.inbox.snoozed ?? []);
	history = $derived(this.query.data?.inbox.history.filter((one) => !this.#shown.has(one.request_id)) ?? []);
	running = $derived(this.query.data?.running ?? []);

	/** Load it, and reload when it changes. Returns a function that unsubscribes. */
	follow(): () => void {
		void this.load();
		return reloadOn(/^(inbox\.|workers\.(?!transcript_recorded|spending_recorded|message_))/, () => void this.load());
	}

	async load(): Promise<void> {
		await this.query.run(async () => {
			const [inbox, tasks] = await Promise.all([
				unwrap(api.GET('/api/inbox')),
				unwrap(api.GET('/api/tasks', { params: { query: { ended: 0 } } }))
			]);
			return { inbox, running: tasks.active };
		});
		const data = this.query.data?.inbox;
		if (!data || this.query.error) return;
		const isMine = (one: InboxRequest) => !this.subject || one.subject === this.subject;
		for (const closed of data.history) if (this.#shown.has(closed.request_id)) this.#shown.set(closed.request_id, closed);
		const open = [...data.needs_you, ...data.failed, ...data.finished].filter(isMine);
		for (const one of open) {
			this.#shown.set(one.request_id, one);
			if (one.unread) this.#unread.add(one.request_id);
		}
		for (const put of data.snoozed) this.#shown.delete(put.request_id);
		const unread = open.filter((one) => one.unread);
		if (unread.length && document.visibilityState === 'visible') await this.#markRead(unread);
	}

	/** Whether a request was new when this page showed it. */
	isNew(requestId: string): boolean {
		return this.#unread.has(requestId);
	}

	async #markRead(unread: InboxRequest[]): Promise<void> {
		const body = { request_id: '' };
		if (!this.subject) await api.POST('/api/inbox/read', { body }).catch(() => undefined);
		else await Promise.all(unread.map(({ request_id }) => api.POST('/api/inbox/{request_id}/read', { params: { path: { request_id } }, body }).catch(() => undefined)));
	}

	/** Answer a request. If somebody else was first, it is shown with their receipt. Returns whether this answer counts. */
	async answer(request: InboxRequest, choice: string, answers: QuestionAnswer[] = [], text = ''): Promise<boolean> {
		const { request_id, digest } = request;
		const body = { choice, digest, answers, text };
		const params = { path: { request_id } };
		this.busy = request_id;
		this.errors.delete(request_id);
		try {
			const closed = await this.#request.send({ request_id, ...body }, (key) =>
				unwrap(api.POST('/api/inbox/{request_id}/answer', { params, body: { ...body, request_id: key } }))
			);
			this.#shown.set(request_id, closed);
			return true;
		} catch (error) {
			this.errors.set(request_id, toActionError(error));
			if (toApiError(error).status === CONFLICT) await this.load();
			return false;
		} finally {
			this.busy = '';
		}
	}

	async snooze(request: InboxRequest, until: Date): Promise<void> {
		const params = { path: { request_id: request.request_id } };
		const send = (time: string | null) => unwrap(api.POST('/api/inbox/{request_id}/snooze', { params, body: { until: time, request_id: '' } }));
		const done = await tryAction(() => send(until.toISOString()));
		if (!done) return;
		this.#shown.delete(request.request_id);
		await this.load();
		toasts.show('Put off.', { label: 'Undo', run: () => void tryAction(() => send(null)) });
	}

	async wake(request: InboxRequest): Promise<void> {
		const params = { path: { request_id: request.request_id } };
		await tryAction(() => unwrap(api.POST('/api/inbox/{request_id}/snooze', { params, body: { until: null, request_id: '' } })));
		await this.load();
	}

	/** A request by its id, also one that is closed: a link from a notification leads to it. */
	async find(request_id: string): Promise<InboxRequest | null> {
		const found = await api.GET('/api/inbox/{request_id}', { params: { path: { request_id } } }).catch(() => undefined);
		return found?.data ?? null;
	}

	/** The open requests of a group in their order, with those that were closed while this page was open, newest first. */
	#inPlace(group: string, open: InboxRequest[]): InboxRequest[] {
		const ids = new Set(open.map((one) => one.request_id));
		const closed = [...this.#shown.values()].filter((one) => one.closing && one.group === group && !ids.has(one.request_id));
		const current = open.filter((one) => !this.subject || one.subject === this.subject).map((one) => {
			const seen = this.#shown.get(one.request_id);
			return seen?.closing ? seen : one; // the answer came back before the list was loaded again
		});
		return [...current, ...closed.sort((a, b) => b.position - a.position)];
	}
}
