import { describe, expect, it } from 'vitest';
import { heardOf, Hearing, type Told } from './sse-parser';

describe('a stream', () => {
	it('is cut into events wherever its pieces end', () => {
		const hearing = new Hearing();
		expect(hearing.heard('event: hello\ndata: {"posi')).toEqual([]);
		expect(hearing.heard('tion":7}\n')).toEqual([]);
		expect(hearing.heard('\nid: 8\nevent: fact\ndata: {}\n\nev')).toEqual([
			{ event: 'hello', data: '{"position":7}' },
			{ event: 'fact', data: '{}' }
		]);
	});
	it('has beats that say nothing', () => {
		expect(new Hearing().heard(': beat\n\nevent: words\ndata: "x"\n\n')).toEqual([{ event: 'words', data: '"x"' }]);
	});
	it('is heard to its end, with letters that two pieces share', async () => {
		const bytes = new TextEncoder().encode('event: words\ndata: "é"\n\n: beat\n\n');
		const pieces = [bytes.slice(0, 21), bytes.slice(21, 23), bytes.slice(23)];
		const body = new ReadableStream<Uint8Array>({
			pull: (end) => {
				const piece = pieces.shift();
				if (piece) end.enqueue(piece);
				else end.close();
			}
		});
		const heard: Told[][] = [];
		await heardOf(body, (told) => heard.push(told));
		expect(heard.flat()).toEqual([{ event: 'words', data: '"é"' }]);
		expect(heard.length).toBe(3);
	});
});
