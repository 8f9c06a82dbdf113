/** Cache of results computed from texts, bounded by its total number of characters; the oldest is evicted first. */
export class TextCache<Result extends string | null> {
	#results = new Map<string, Result>();
	#characters = 0;

	constructor(readonly charactersMax: number) {}

	/** The cached result for a text, or the one that `compute` gives. */
	get(text: string, compute: () => Result): Result {
		const cached = this.#results.get(text);
		if (cached !== undefined) return cached;
		const result = compute();
		this.#results.set(text, result);
		this.#characters += text.length + (result?.length ?? 0);
		for (const [oldest, value] of this.#results) {
			if (this.#characters <= this.charactersMax) break;
			this.#results.delete(oldest);
			this.#characters -= oldest.length + (value?.length ?? 0);
		}
		return result;
	}
}
