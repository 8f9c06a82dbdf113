/** Lessons: how they stand before the gate, and what a person says to them. */
import { api, told, type Shape } from '$lib/api/client';
import { Attempts } from '$lib/api/retrying-request';
import { rereading } from '$lib/live/reload-on';
import type { Pages } from '$lib/live/paged-list.svelte';
import { Asked } from '$lib/live/query.svelte';
import { tried } from '$lib/ui/feedback/try-action';
import { toasts } from '$lib/ui';

export type Lesson = Shape<'LessonOut'>;
export type Standing = Shape<'StandingOut'>;
export type Narrative = Omit<Shape<'NarrativeIn'>, 'request_id'>;
export type Status = 'pending' | 'active' | 'promoted' | 'discarded' | 'superseded';
type State = 'working' | 'waiting' | 'done' | 'trouble' | 'none';

/** The facts that change a list of them. */
export const CHANGES = /^lessons\.(?!manifest_shown|phase_logged)/;

/** A status in words, and how it looks. */
export const STATUSES: Record<string, { label: string; state: State }> = {
	pending: { label: 'Proposed', state: 'waiting' },
	active: { label: 'On trial', state: 'working' },
	promoted: { label: 'Stands', state: 'done' },
	discarded: { label: 'Let go', state: 'none' },
	superseded: { label: 'Replaced', state: 'none' }
};

/** Lessons of a status, or all of them, a page at a time. */
export function pagesOf(status: Status | ''): Pages<Lesson> {
	return async (part) => {
		const query = { status: status ? [status] : [], ...part };
		const { lessons, total } = await told(api.GET('/api/lessons', { params: { query } }));
		return { items: lessons, total };
	};
}

export class OneLesson {
	known = new Asked<Standing>();
	busy = $state(false);
	#attempts = new Attempts();

	constructor(readonly lessonId: string) {}

	/** Read it, and again when something is recorded; what is returned ends it. */
	follow(): () => void {
		this.read();
		return rereading(CHANGES, () => this.read());
	}

	read(): void {
		void this.known.ask(() => told(api.GET('/api/lessons/{lesson_id}', { params: this.#params })));
	}

	get #params() {
		return { path: { lesson_id: this.lessonId } };
	}

	/** The words on the page: who agrees agrees to these, and to no others. */
	get #seen(): string {
		return this.known.data?.lesson.digest ?? '';
	}

	activate(): Promise<boolean> {
		const params = { ...this.#params, query: { text_digest: this.#seen } };
		return this.#does('It is on trial now.', { activate: params }, (request_id) =>
			told(api.POST('/api/lessons/{lesson_id}/activation', { params, body: { request_id } }))
		);
	}

	/** Ask the gate; a refusal is an answer too. */
	promote(): Promise<boolean> {
		return this.#busily(async () => {
			const said = await this.#attempts.make('promote', (request_id) =>
				told(api.POST('/api/lessons/{lesson_id}/promotion', { params: this.#params, body: { request_id } }))
			);
			toasts.say(said.passed ? 'The gate is open: it stands.' : `The gate stays shut. ${said.reasons[0] ?? ''}`);
			this.read();
		});
	}

	async praise(helpful: boolean): Promise<void> {
		const body = { helpful, text_digest: this.#seen };
		let signal_id = '';
		const done = await this.#does('', { praise: body }, (request_id) => {
			signal_id = `web-${request_id}`;
			return told(api.POST('/api/lessons/{lesson_id}/feedback', { params: this.#params, body: { ...body, signal_id, request_id } }));
		});
		const words = helpful ? 'Noted: it helped.' : 'Noted: it harmed.';
		if (done) toasts.say(words, { label: 'Undo', does: () => void this.withdraw(signal_id) });
	}

	/** Taking back what was taken back changes nothing, so it needs no id. */
	withdraw(signal: string): Promise<boolean> {
		const params = { path: { lesson_id: this.lessonId, signal_id: signal } };
		return this.#does('Taken back.', { withdraw: signal }, () =>
			told(api.DELETE('/api/lessons/{lesson_id}/feedback/{signal_id}', { params }))
		);
	}

	discard(reason: string, force: boolean): Promise<boolean> {
		return this.#does('It is let go.', { discard: reason, force }, (request_id) =>
			told(api.POST('/api/lessons/{lesson_id}/discard', { params: this.#params, body: { reason, force, request_id } }))
		);
	}

	edit(description: string, body: string): Promise<boolean> {
		const words = { description, body };
		return this.#does('Its words are changed.', words, (request_id) =>
			told(api.PATCH('/api/lessons/{lesson_id}', { params: this.#params, body: { ...words, request_id } }))
		);
	}

	narrate(said: Narrative): Promise<boolean> {
		return this.#does('Kept.', said, (request_id) =>
			told(api.POST('/api/lessons/{lesson_id}/narrative', { params: this.#params, body: { ...said, request_id } }))
		);
	}

	#does(words: string, what: unknown, ask: (requestId: string) => Promise<Standing>): Promise<boolean> {
		return this.#busily(async () => {
			this.known.data = await this.#attempts.make(what, ask);
			if (words) toasts.say(words);
		});
	}

	async #busily(act: () => Promise<void>): Promise<boolean> {
		this.busy = true;
		const done = await tried(act);
		this.busy = false;
		return done;
	}
}
