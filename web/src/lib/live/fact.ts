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
 * What was heard of an answer, and how many characters that is.
 *
 * The engine counts characters, a browser counts halves of some of them: 𝄞 is one there and two here.
 */
export type Spoken = { text: string; length: number };

/** A text as something that was heard. */
export function spoken(text: string): Spoken {
	return { text, length: [...text].length };
}

/**
 * What was heard with some words put in their place: what is known already is not doubled, and a hole is refused (null), for then
 * something was missed and must be read again. Words that come next cost no more than themselves, however long the text is.
 */
export function joined(known: Spoken, words: Words): Spoken | null {
	if (words.offset > known.length) return null;
	const came = spoken(words.text);
	const end = words.offset + came.length;
	if (end <= known.length) return known;
	const before = words.offset === known.length ? known.text : [...known.text].slice(0, words.offset).join('');
	return { text: before + words.text, length: end };
}
