/**
 * Reads the server-sent events of the event stream.
 *
 * Not with EventSource, because that hides the heartbeats between events, which are needed to notice a dead connection.
 */
export type ServerEvent = { event: string; data: string };

/** Splits chunks of text into whole events; the rest waits for the next chunk. */
export class SseParser {
	#rest = '';

	push(text: string): ServerEvent[] {
		const blocks = (this.#rest + text).split('\n\n');
		this.#rest = blocks.pop() ?? '';
		return blocks.map(parseEvent).filter((event) => event.data !== '');
	}
}

function parseEvent(block: string): ServerEvent {
	const event: ServerEvent = { event: 'message', data: '' };
	for (const line of block.split('\n')) {
		if (line.startsWith('event: ')) event.event = line.slice(7);
		else if (line.startsWith('data: ')) event.data = line.slice(6);
	}
	return event;
}

/** Read a stream until it ends or is aborted. `onEvents` is called for every chunk, even if it is only a heartbeat. */
export async function readEvents(
	body: ReadableStream<Uint8Array>,
	onEvents: (events: ServerEvent[]) => void,
	signal?: AbortSignal
): Promise<void> {
	const parser = new SseParser();
	const decoder = new TextDecoder();
	const reader = body.getReader();
	signal?.addEventListener('abort', () => void reader.cancel().catch(() => undefined));
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return;
		onEvents(parser.push(decoder.decode(value, { stream: true })));
	}
}
