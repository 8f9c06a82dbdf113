/** The branches of a conversation: where one stands, and two of them side by side. */
import { api, told, type Shape } from '$lib/api/client';
import { Attempts } from '$lib/api/retrying-request';
import { rereading } from '$lib/live/reload-on';
import { Asked } from '$lib/live/query.svelte';
import { tried } from '$lib/ui/feedback/try-action';
import { toasts } from '$lib/ui';
import type { Line } from './branch-map';

export class Branches {
	known = new Asked<Line[]>();
	compared = new Asked<Shape<'ComparedOut'>>();
	#attempts = new Attempts();

	constructor(readonly threadId: string) {}

	/** Read them, and again when something changes; what is returned ends it. */
	follow(): () => void {
		this.read();
		return rereading(/^thread\.|branch/, () => this.read());
	}

	read(): void {
		const path = { thread_id: this.threadId };
		void this.known.ask(() => told(api.GET('/api/threads/{thread_id}/branches', { params: { path } })));
	}

	compare(first: string, second: string): void {
		const params = { path: { thread_id: this.threadId }, query: { first, second } };
		void this.compared.ask(() => told(api.GET('/api/threads/{thread_id}/branches/compare', { params })));
	}

	/** Go on there from now on. */
	stand(branch: string): Promise<boolean> {
		const path = { thread_id: this.threadId };
		return tried(async () => {
			const gone = await this.#attempts.make(branch, (request_id) =>
				told(api.POST('/api/threads/{thread_id}/branch', { params: { path }, body: { branch, request_id } }))
			);
			this.read();
			toasts.say('You stand on that branch now.', { label: 'Undo', does: () => void this.stand(gone.before) });
		});
	}
}

/** What a branch is called: its newest words, or its place. */
export function nameOf(line: Line): string {
	if (line.newest?.text) return line.newest.text.replace(/[*_`#>|]+/g, '').replace(/\s+/g, ' ').slice(0, 120);
	return line.parent ? 'Nothing was said here yet' : 'The beginning';
}
