/** Payloads of the event stream: recorded facts, and the text of answers as it is generated. */
export type Fact = {
	position: number;
	kind: string;
	stream: string;
	branch: string;
	actor: string;
	recorded_at: string;
	data: Record<string, unknown> | null;
};

/** A piece of an answer, or of the reasoning before it, and its offset. An empty text means that the answer ended. */
export type TextDelta = { thread_id: string; turn_id: string; offset: number; text: string; thought?: boolean };

/**
 * The text of an answer received so far, and its length in characters.
 *
 * The server counts code points, JavaScript counts UTF-16 units: 𝄞 is one there and two here.
 */
export type StreamedText = { text: string; length: number };

/** Wrap a text with its length in code points. */
export function streamedText(text: string): StreamedText {
	return { text, length: [...text].length };
}

/**
 * Add a piece to the received text. Overlaps are not duplicated; a gap gives null, because then something was missed and the answer
 * must be reloaded. Appending costs only the length of the piece, however long the text is.
 */
export function applyDelta(received: StreamedText, delta: TextDelta): StreamedText | null {
	if (delta.offset > received.length) return null;
	const added = streamedText(delta.text);
	const end = delta.offset + added.length;
	if (end <= received.length) return received;
	const before = delta.offset === received.length ? received.text : [...received.text].slice(0, delta.offset).join('');
	return { text: before + delta.text, length: end };
}
