/** The state of one request, for pages that load something and show it: data, error, loading. */
import { toApiError, type ApiError } from '$lib/api/client';

export class Query<Data> {
	data = $state<Data | null>(null);
	error = $state<ApiError | null>(null);
	loading = $state(false);
	#latest = 0;

	/** Send a request; the result of an earlier one is ignored. */
	async run(request: () => Promise<Data>): Promise<void> {
		const mine = ++this.#latest;
		this.loading = true;
		try {
			const data = await request();
			if (mine !== this.#latest) return;
			this.data = data;
			this.error = null;
		} catch (error) {
			if (mine === this.#latest) this.error = toApiError(error);
		} finally {
			if (mine === this.#latest) this.loading = false;
		}
	}
}
