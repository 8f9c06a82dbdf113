/** What comes by the stream: facts as they are recorded, and answers word by word. */
export type Fact = {
	position: number;
	kind: string;
	stream: string;
	branch: string;
	actor: string;
	recorded_at: string;
	data: Record<string, unknown> | null;
};

/** Some words of an answer, and where in it they begin. The empty text says that it ended. */
export type Words = { thread_id: string; turn_id: string; offset: number; text: string };

/**
 * A text with some words put in their place: what is known already is not doubled, and a hole is
 * refused (null), for then something was missed and must be read again.
 *
 * The engine counts characters, a browser counts halves of some of them: 𝄞 is one there and two here.
 */
export function joined(text: string, words: Words): string | null {
	const known = [...text];
	if (words.offset > known.length) return null;
	if (words.offset === known.length) return text + words.text;
	const came = [...words.text];
	return words.offset + came.length <= known.length ? text : known.slice(0, words.offset).join('') + words.text;
}
