/**
 * Splits Markdown into independent blocks. While a text streams in, only its last block is rendered again, so a long answer costs no
 * more at its end than at its start.
 */
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const CONTINUES = /^([-*+>|]|\d+[.)])/; // may belong to the block before it
const DETAILS = /<(\/?)details[^>]*>/gi; // its content stays in one block with it
const REFERENCE = /^ {0,3}\[[^\]]+\]:/m; // a definition that other blocks refer to

/** Offsets where a text can be split: text before them never changes again, whatever follows. */
export function blockBoundaries(text: string): number[] {
	const boundaries: number[] = [];
	let fence = '';
	let details = 0;
	let offset = 0;
	for (const line of text.split('\n')) {
		const mark = FENCE.exec(line)?.[1];
		if (mark && !fence) fence = mark;
		else if (mark && fence && mark.startsWith(fence)) fence = '';
		if (!fence) for (const [, end] of line.matchAll(DETAILS)) details = Math.max(0, details + (end ? -1 : 1));
		offset += line.length + 1;
		if (fence || details || line.trim() !== '' || offset >= text.length) continue;
		const next = text.slice(offset, offset + 12);
		if (/^\S/.test(next) && !CONTINUES.test(next)) boundaries.push(offset);
	}
	return boundaries;
}

/** Split a complete text into blocks. */
export function splitBlocks(text: string): string[] {
	if (REFERENCE.test(text)) return [text];
	const edges = [0, ...blockBoundaries(text), text.length];
	return edges.slice(1).map((end, index) => text.slice(edges[index], end));
}

/** Splits a text that is still streaming in. */
export class StreamingBlocks {
	#text = '';
	#final: string[] = [];
	#end = 0;

	/** The blocks of the text so far; all but the last are the same as before. */
	update(text: string): string[] {
		if (!text.startsWith(this.#text)) [this.#final, this.#end] = [[], 0];
		this.#text = text;
		const start = this.#end;
		for (const boundary of blockBoundaries(text.slice(start))) {
			this.#final.push(text.slice(this.#end, start + boundary));
			this.#end = start + boundary;
		}
		return [...this.#final, text.slice(this.#end)];
	}
}

/** The language and the content of a code block that has not ended yet; null for any other block. */
export function unfinishedCode(block: string): { language: string; code: string } | null {
	const opening = /^ {0,3}(`{3,}|~{3,})([^\n`]*)\n/.exec(block);
	if (!opening) return null;
	const code = block.slice(opening[0].length);
	const ended = code.split('\n').some((line) => FENCE.exec(line)?.[1]?.startsWith(opening[1] ?? ''));
	return ended ? null : { language: opening[2]?.trim().split(/\s/)[0] ?? '', code };
}
