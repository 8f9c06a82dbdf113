/** Every conversation, kept in step with the log. */
import { api, problemOf, told, type Problem, type Shape } from '$lib/api/client';
import type { Live } from '$lib/live/live.svelte';

const CHANGES = /^thread\.thread_/;

class Threads {
	list = $state<Shape<'ThreadOut'>[]>([]);
	problem = $state<Problem | null>(null);

	/** Read them, and again when one of them changes; what is returned ends it. */
	follow(live: Live): () => void {
		void this.read();
		return live.listen({
			again: () => void this.read(),
			fact: (fact) => {
				if (CHANGES.test(fact.kind)) void this.read();
			}
		});
	}

	async read(): Promise<void> {
		try {
			this.list = await told(api.GET('/api/threads'));
			this.problem = null;
		} catch (error) {
			this.problem = problemOf(error);
		}
	}

	async open(title: string): Promise<string> {
		const made = await told(api.POST('/api/threads', { body: { title } }));
		await this.read();
		return made.thread_id;
	}

	titleOf(threadId: string): string {
		return this.list.find((one) => one.thread_id === threadId)?.title ?? '';
	}
}

export const threads = new Threads();
