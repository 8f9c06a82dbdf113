/** Cache of responses that never change; bounded, the oldest is evicted first. */
export class RequestCache<Data> {
	#cached = new Map<string, Promise<Data>>();

	constructor(readonly entriesMax: number) {}

	/** The cached response, or the result of `load`. Failures are not cached. */
	get(key: string, load: () => Promise<Data>): Promise<Data> {
		const cached = this.#cached.get(key);
		if (cached) return cached;
		const loading = load();
		this.#cached.set(key, loading);
		loading.catch(() => this.#cached.delete(key));
		const [oldest] = this.#cached.keys();
		if (this.#cached.size > this.entriesMax && oldest !== undefined) this.#cached.delete(oldest);
		return loading;
	}
}
