/** Lessons: their status, the gate that approves them, and feedback on them. */
import { api, unwrap, type Schema } from '$lib/api/client';
import { RetryingRequest } from '$lib/api/retrying-request';
import { pluralize } from '$lib/format/text';
import type { LoadPage } from '$lib/live/paged-list.svelte';
import { Query } from '$lib/live/query.svelte';
import { reloadOn } from '$lib/live/reload-on';
import { toasts } from '$lib/ui';
import { tryAction } from '$lib/ui/feedback/try-action';

export type Lesson = Schema<'LessonOut'>;
export type LessonDetail = Schema<'StandingOut'>;
export type Narrative = Omit<Schema<'NarrativeIn'>, 'request_id'>;
export type Status = 'pending' | 'active' | 'promoted' | 'discarded' | 'superseded';
type BadgeState = 'working' | 'waiting' | 'done' | 'trouble' | 'none';

/** Facts that change lessons. */
export const LESSON_CHANGES = /^lessons\.(?!manifest_shown|phase_logged)/;

/** The label and the colour of a status. */
export const STATUSES: Record<string, { label: string; state: BadgeState }> = {
	pending: { label: 'Proposed', state: 'waiting' },
	active: { label: 'In trial', state: 'working' },
	promoted: { label: 'Approved', state: 'done' },
	discarded: { label: 'Discarded', state: 'none' },
	superseded: { label: 'Replaced', state: 'none' }
};

/** Loads the pages of the lessons with a status, or of all lessons. */
export function lessonPages(status: Status | ''): LoadPage<Lesson> {
	return async (part) => {
		const query = { status: status ? [status] : [], ...part };
		const { lessons, total } = await unwrap(api.GET('/api/lessons', { params: { query } }));
		return { items: lessons, total };
	};
}

export class LessonState {
	detail = new Query<LessonDetail>();
	busy = $state(false);
	#request = new RetryingRequest();

	constructor(readonly lessonId: string) {}

	/** Load it, and reload when it changes. Returns a function that unsubscribes. */
	follow(): () => void {
		this.load();
		return reloadOn(LESSON_CHANGES, () => this.load());
	}

	load(): void {
		void this.detail.run(() => unwrap(api.GET('/api/lessons/{lesson_id}', { params: this.#params })));
	}

	get #params() {
		return { path: { lesson_id: this.lessonId } };
	}

	/** The digest of the text on the page, so that feedback applies to this text and to no other. */
	get #textDigest(): string {
		return this.detail.data?.lesson.digest ?? '';
	}

	startTrial(): Promise<boolean> {
		const params = { ...this.#params, query: { text_digest: this.#textDigest } };
		return this.#change('Trial started.', { activate: params }, (request_id) =>
			unwrap(api.POST('/api/lessons/{lesson_id}/activation', { params, body: { request_id } }))
		);
	}

	/** Check the requirements and approve the lesson if they are met. */
	approve(): Promise<boolean> {
		return this.#busyWhile(async () => {
			const result = await this.#request.send('promote', (request_id) =>
				unwrap(api.POST('/api/lessons/{lesson_id}/promotion', { params: this.#params, body: { request_id } }))
			);
			toasts.show(result.passed ? 'Approved.' : `Not approved yet: ${pluralize(result.reasons.length, 'requirement')} missing.`);
			this.load();
		});
	}

	async giveFeedback(helpful: boolean): Promise<void> {
		const body = { helpful, text_digest: this.#textDigest };
		let signal_id = '';
		const done = await this.#change('', { praise: body }, (request_id) => {
			signal_id = `web-${request_id}`;
			return unwrap(api.POST('/api/lessons/{lesson_id}/feedback', { params: this.#params, body: { ...body, signal_id, request_id } }));
		});
		if (done) toasts.show('Feedback saved.', { label: 'Undo', run: () => void this.withdrawFeedback(signal_id) });
	}

	/** Withdrawing twice changes nothing, so this needs no request id. */
	withdrawFeedback(signal: string): Promise<boolean> {
		const params = { path: { lesson_id: this.lessonId, signal_id: signal } };
		return this.#change('Feedback removed.', { withdraw: signal }, () =>
			unwrap(api.DELETE('/api/lessons/{lesson_id}/feedback/{signal_id}', { params }))
		);
	}

	discard(reason: string, force: boolean): Promise<boolean> {
		return this.#change('Discarded.', { discard: reason, force }, (request_id) =>
			unwrap(api.POST('/api/lessons/{lesson_id}/discard', { params: this.#params, body: { reason, force, request_id } }))
		);
	}

	edit(description: string, body: string): Promise<boolean> {
		const text = { description, body };
		return this.#change('Saved.', text, (request_id) =>
			unwrap(api.PATCH('/api/lessons/{lesson_id}', { params: this.#params, body: { ...text, request_id } }))
		);
	}

	explain(narrative: Narrative): Promise<boolean> {
		return this.#change('Saved.', narrative, (request_id) =>
			unwrap(api.POST('/api/lessons/{lesson_id}/narrative', { params: this.#params, body: { ...narrative, request_id } }))
		);
	}

	#change(message: string, body: unknown, send: (requestId: string) => Promise<LessonDetail>): Promise<boolean> {
		return this.#busyWhile(async () => {
			this.detail.data = await this.#request.send(body, send);
			if (message) toasts.show(message);
		});
	}

	async #busyWhile(action: () => Promise<void>): Promise<boolean> {
		this.busy = true;
		const done = await tryAction(action);
		this.busy = false;
		return done;
	}
}
