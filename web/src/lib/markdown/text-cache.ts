/** What was made from texts, up to so many letters: the oldest goes first. */
export class Kept<Made extends string | null> {
	#made = new Map<string, Made>();
	#letters = 0;

	constructor(readonly lettersMax: number) {}

	/** What was made from a text, or what `make` makes of it now. */
	of(text: string, make: () => Made): Made {
		const known = this.#made.get(text);
		if (known !== undefined) return known;
		const made = make();
		this.#made.set(text, made);
		this.#letters += text.length + (made?.length ?? 0);
		for (const [oldest, its] of this.#made) {
			if (this.#letters <= this.lettersMax) break;
			this.#made.delete(oldest);
			this.#letters -= oldest.length + (its?.length ?? 0);
		}
		return made;
	}
}
