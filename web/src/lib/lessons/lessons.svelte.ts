/** Lessons: how they stand before the gate, and what a person says to them. */
import { untrack } from 'svelte';
import { api, problemOf, told, type Problem, type Shape } from '$lib/api/client';
import { rereading } from '$lib/follow.svelte';
import { Asked } from '$lib/live/wait.svelte';
import { toasts } from '$lib/ui';

export type Lesson = Shape<'LessonOut'>;
export type Standing = Shape<'StandingOut'>;
export type Status = 'pending' | 'active' | 'promoted' | 'discarded' | 'superseded';
type State = 'working' | 'waiting' | 'done' | 'trouble' | 'none';

const PAGE = 100;
const LIMIT_MAX = 500; // that the engine gives at once
const CHANGES = /^lessons\.(?!manifest_shown|phase_logged)/;

/** A status in words, and how it looks. */
export const STATUSES: Record<string, { label: string; state: State }> = {
	pending: { label: 'Proposed', state: 'waiting' },
	active: { label: 'On trial', state: 'working' },
	promoted: { label: 'Stands', state: 'done' },
	discarded: { label: 'Let go', state: 'none' },
	superseded: { label: 'Replaced', state: 'none' }
};

/** Lessons a page after another, as many as there are. */
export class Lessons {
	items = $state.raw<Lesson[]>([]);
	total = $state(-1);
	problem = $state<Problem | null>(null);
	#status: Status | '' = '';
	#newest = 0;
	#busy = false;

	/** Read those of a status, and again when one changes; what is returned ends it. */
	follow(status: Status | ''): () => void {
		this.#status = status;
		this.total = -1;
		this.items = [];
		untrack(() => void this.read());
		return rereading(CHANGES, () => void this.read());
	}

	/** Read as many as are shown now. */
	async read(): Promise<void> {
		const mine = ++this.#newest;
		const limit = Math.min(LIMIT_MAX, Math.max(PAGE, this.items.length));
		await this.#ask(0, limit, (lessons) => mine === this.#newest && (this.items = lessons));
	}

	/** Read on, if there is more. */
	async more(): Promise<void> {
		if (this.#busy || this.items.length >= this.total) return;
		this.#busy = true;
		const mine = this.#newest;
		await this.#ask(this.items.length, PAGE, (lessons) => mine === this.#newest && (this.items = [...this.items, ...lessons]));
		this.#busy = false;
	}

	async #ask(offset: number, limit: number, take: (lessons: Lesson[]) => void): Promise<void> {
		try {
			const query = { status: this.#status ? [this.#status] : [], limit, offset };
			const page = await told(api.GET('/api/lessons', { params: { query } }));
			take(page.lessons);
			this.total = page.total;
			this.problem = null;
		} catch (error) {
			this.problem = problemOf(error);
		}
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

	/** The words on the page: who agrees agrees to these, and to no others. */
	get #seen(): string {
		return this.known.data?.lesson.digest ?? '';
	}

	activate(): Promise<boolean> {
		const params = { ...this.#params, query: { text_digest: this.#seen } };
		return this.#does('It is on trial now.', () =>
			told(api.POST('/api/lessons/{lesson_id}/activation', { params }))
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
		const body = { helpful, signal_id: signal, text_digest: this.#seen };
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
