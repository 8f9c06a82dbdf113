/**
 * The engine's stream as it comes, event by event.
 *
 * It is read by hand and not by EventSource, for that one hides the beats between events: whoever hears them notices silence.
 */
export type Told = { event: string; data: string };

/** Whole events out of pieces of text; the rest waits for the next piece. */
export class Hearing {
	#rest = '';

	heard(text: string): Told[] {
		const blocks = (this.#rest + text).split('\n\n');
		this.#rest = blocks.pop() ?? '';
		return blocks.map(toldIn).filter((told) => told.data !== '');
	}
}

function toldIn(block: string): Told {
	const told = { event: 'message', data: '' };
	for (const line of block.split('\n')) {
		if (line.startsWith('event: ')) told.event = line.slice(7);
		else if (line.startsWith('data: ')) told.data = line.slice(6);
	}
	return told;
}

/** Hear a stream until it ends or is broken off. `hear` is called for each piece that comes, also if it is nothing but a beat. */
export async function heardOf(
	body: ReadableStream<Uint8Array>,
	hear: (told: Told[]) => void,
	brokenOff?: AbortSignal
): Promise<void> {
	const hearing = new Hearing();
	const letters = new TextDecoder();
	const reader = body.getReader();
	brokenOff?.addEventListener('abort', () => void reader.cancel().catch(() => undefined));
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return;
		hear(hearing.heard(letters.decode(value, { stream: true })));
	}
}
