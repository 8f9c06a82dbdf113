/** Lessons: how they stand before the gate, and what a person says to them. */
import { api, problemOf, told, type Shape } from '$lib/api/client';
import { rereading } from '$lib/follow.svelte';
import { Asked } from '$lib/live/wait.svelte';
import { toasts } from '$lib/ui';

export type Lesson = Shape<'LessonOut'>;
export type Standing = Shape<'StandingOut'>;
export type Status = 'pending' | 'active' | 'promoted' | 'discarded' | 'superseded';
type State = 'working' | 'waiting' | 'done' | 'trouble' | 'none';

const PAGE = 200;
const CHANGES = /^lessons\.(?!manifest_shown|phase_logged)/;

/** A status in words, and how it looks. */
export const STATUSES: Record<string, { label: string; state: State }> = {
	pending: { label: 'Proposed', state: 'waiting' },
	active: { label: 'On trial', state: 'working' },
	promoted: { label: 'Stands', state: 'done' },
	discarded: { label: 'Let go', state: 'none' },
	superseded: { label: 'Replaced', state: 'none' }
};

export class Lessons {
	known = new Asked<Shape<'LessonsOut'>>();
	#status: Status | '' = '';

	/** Read those of a status, and again when one changes; what is returned ends it. */
	follow(status: Status | ''): () => void {
		this.#status = status;
		this.read();
		return rereading(CHANGES, () => this.read());
	}

	read(limit = PAGE): void {
		const query = { status: this.#status ? [this.#status] : [], limit };
		void this.known.ask(() => told(api.GET('/api/lessons', { params: { query } })));
	}

	more(): void {
		this.read(Math.min(500, (this.known.data?.lessons.length ?? 0) + PAGE));
	}
}

export class OneLesson {
	known = new Asked<Standing>();
	busy = $state(false);

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

	activate(): Promise<boolean> {
		return this.#does('It is on trial now.', () =>
			told(api.POST('/api/lessons/{lesson_id}/activation', { params: this.#params }))
		);
	}

	/** Ask the gate; a refusal is an answer too. */
	async promote(): Promise<void> {
		this.busy = true;
		try {
			const said = await told(api.POST('/api/lessons/{lesson_id}/promotion', { params: this.#params }));
			toasts.say(said.passed ? 'The gate is open: it stands.' : `The gate stays shut. ${said.reasons[0] ?? ''}`);
			this.read();
		} catch (error) {
			toasts.trouble(problemOf(error));
		} finally {
			this.busy = false;
		}
	}

	async praise(helpful: boolean): Promise<void> {
		const signal = `web-${crypto.randomUUID()}`;
		const body = { helpful, signal_id: signal };
		const done = await this.#does('', () =>
			told(api.POST('/api/lessons/{lesson_id}/feedback', { params: this.#params, body }))
		);
		const words = helpful ? 'Noted: it helped.' : 'Noted: it harmed.';
		if (done) toasts.say(words, { label: 'Undo', does: () => void this.withdraw(signal) });
	}

	withdraw(signal: string): Promise<boolean> {
		const params = { path: { lesson_id: this.lessonId, signal_id: signal } };
		return this.#does('Taken back.', () =>
			told(api.DELETE('/api/lessons/{lesson_id}/feedback/{signal_id}', { params }))
		);
	}

	discard(reason: string, force: boolean): Promise<boolean> {
		return this.#does('It is let go.', () =>
			told(api.POST('/api/lessons/{lesson_id}/discard', { params: this.#params, body: { reason, force } }))
		);
	}

	edit(description: string, body: string): Promise<boolean> {
		return this.#does('Its words are changed.', () =>
			told(api.PATCH('/api/lessons/{lesson_id}', { params: this.#params, body: { description, body } }))
		);
	}

	narrate(body: Shape<'NarrativeIn'>): Promise<boolean> {
		return this.#does('Kept.', () =>
			told(api.POST('/api/lessons/{lesson_id}/narrative', { params: this.#params, body }))
		);
	}

	async #does(words: string, act: () => Promise<Standing>): Promise<boolean> {
		this.busy = true;
		try {
			this.known.data = await act();
			if (words) toasts.say(words);
			return true;
		} catch (error) {
			toasts.trouble(problemOf(error));
			return false;
		} finally {
			this.busy = false;
		}
	}
}
