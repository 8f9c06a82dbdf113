import { describe, expect, it } from 'vitest';
import { readEvents, SseParser, type ServerEvent } from './sse-parser';

describe('the parser of server-sent events', () => {
	it('splits text into events wherever the chunks end', () => {
		const parser = new SseParser();
		expect(parser.push('event: hello\ndata: {"posi')).toEqual([]);
		expect(parser.push('tion":7}\n')).toEqual([]);
		expect(parser.push('\nid: 8\nevent: fact\ndata: {}\n\nev')).toEqual([
			{ event: 'hello', data: '{"position":7}' },
			{ event: 'fact', data: '{}' }
		]);
	});
	it('ignores heartbeats', () => {
		expect(new SseParser().push(': beat\n\nevent: words\ndata: "x"\n\n')).toEqual([{ event: 'words', data: '"x"' }]);
	});
	it('reads to the end, with characters split across chunks', async () => {
		const bytes = new TextEncoder().encode('event: words\ndata: "é"\n\n: beat\n\n');
		const chunks = [bytes.slice(0, 21), bytes.slice(21, 23), bytes.slice(23)];
		const body = new ReadableStream<Uint8Array>({
			pull: (controller) => {
				const chunk = chunks.shift();
				if (chunk) controller.enqueue(chunk);
				else controller.close();
			}
		});
		const received: ServerEvent[][] = [];
		await readEvents(body, (events) => received.push(events));
		expect(received.flat()).toEqual([{ event: 'words', data: '"é"' }]);
		expect(received.length).toBe(3);
	});
});
