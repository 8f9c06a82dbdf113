/** What never changes is asked for once: up to so many answers are kept, and the oldest goes first. */
export class Once<Answer> {
	#known = new Map<string, Promise<Answer>>();

	constructor(readonly answersMax: number) {}

	/** The answer that is known, or what `ask` finds now. What failed is asked again. */
	of(key: string, ask: () => Promise<Answer>): Promise<Answer> {
		const known = this.#known.get(key);
		if (known) return known;
		const asked = ask();
		this.#known.set(key, asked);
		asked.catch(() => this.#known.delete(key));
		const [oldest] = this.#known.keys();
		if (this.#known.size > this.answersMax && oldest !== undefined) this.#known.delete(oldest);
		return asked;
	}
}
