/** The branches of a conversation: listing, comparing and switching. */
import { api, unwrap, type Schema } from '$lib/api/client';
import { RetryingRequest } from '$lib/api/retrying-request';
import { Query } from '$lib/live/query.svelte';
import { reloadOn } from '$lib/live/reload-on';
import type { BranchInfo } from '$lib/thread/types';
import { toasts } from '$lib/ui';
import { tryAction } from '$lib/ui/feedback/try-action';

export class Branches {
	list = new Query<BranchInfo[]>();
	comparison = new Query<Schema<'ComparedOut'>>();
	#request = new RetryingRequest();

	constructor(readonly threadId: string) {}

	/** Load them, and reload when something changes. Returns a function that unsubscribes. */
	follow(): () => void {
		this.load();
		return reloadOn(/^thread\.|branch/, () => this.load());
	}

	load(): void {
		const path = { thread_id: this.threadId };
		void this.list.run(() => unwrap(api.GET('/api/threads/{thread_id}/branches', { params: { path } })));
	}

	compare(first: string, second: string): void {
		const params = { path: { thread_id: this.threadId }, query: { first, second } };
		void this.comparison.run(() => unwrap(api.GET('/api/threads/{thread_id}/branches/compare', { params })));
	}

	/** Make a branch the current one. */
	switchTo(branch: string): Promise<boolean> {
		const path = { thread_id: this.threadId };
		return tryAction(async () => {
			const switched = await this.#request.send(branch, (request_id) =>
				unwrap(api.POST('/api/threads/{thread_id}/branch', { params: { path }, body: { branch, request_id } }))
			);
			this.load();
			toasts.show('Switched branch.', { label: 'Undo', run: () => void this.switchTo(switched.before) });
		});
	}
}

/** The title of a branch: the text of its newest message. */
export function branchTitle({ newest, parent }: BranchInfo): string {
	if (newest?.text) return newest.text.replace(/[*_`#>|]+/g, '').replace(/\s+/g, ' ').slice(0, 120);
	return parent ? 'No messages yet' : 'Start of the conversation';
}
