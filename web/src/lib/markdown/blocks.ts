/**
 * A text in blocks that do not change one another. While a text grows, only its last block is set anew: a long answer costs no more at
 * its end than at its beginning.
 */
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const GOES_ON = /^([-*+>|]|\d+[.)])/; // it may belong to what stands before it
const REFERENCE = /^ {0,3}\[[^\]]+\]:/m; // one block would name what another one uses

/** Where a text can be cut: what stands before never changes again, whatever comes. */
export function cutsOf(text: string): number[] {
	const cuts: number[] = [];
	let fence = '';
	let offset = 0;
	for (const line of text.split('\n')) {
		const mark = FENCE.exec(line)?.[1];
		if (mark && !fence) fence = mark;
		else if (mark && fence && mark.startsWith(fence)) fence = '';
		offset += line.length + 1;
		if (fence || line.trim() !== '' || offset >= text.length) continue;
		const next = text.slice(offset, offset + 12);
		if (/^\S/.test(next) && !GOES_ON.test(next)) cuts.push(offset);
	}
	return cuts;
}

/** A whole text in blocks. */
export function blocksOf(text: string): string[] {
	if (REFERENCE.test(text)) return [text];
	const edges = [0, ...cutsOf(text), text.length];
	return edges.slice(1).map((end, index) => text.slice(edges[index], end));
}

/** The blocks of a text that grows. */
export class Growing {
	#text = '';
	#settled: string[] = [];
	#end = 0;

	/** Its blocks now; those before the last one are the same as before. */
	blocks(text: string): string[] {
		if (!text.startsWith(this.#text)) [this.#settled, this.#end] = [[], 0];
		this.#text = text;
		const start = this.#end;
		for (const cut of cutsOf(text.slice(start))) {
			this.#settled.push(text.slice(this.#end, start + cut));
			this.#end = start + cut;
		}
		return [...this.#settled, text.slice(this.#end)];
	}
}

/** Code that has begun and not ended: its language and what has come of it. Null: the block is something else. */
export function openCode(block: string): { language: string; code: string } | null {
	const begun = /^ {0,3}(`{3,}|~{3,})([^\n`]*)\n/.exec(block);
	if (!begun) return null;
	const code = block.slice(begun[0].length);
	const ended = code.split('\n').some((line) => FENCE.exec(line)?.[1]?.startsWith(begun[1] ?? ''));
	return ended ? null : { language: begun[2]?.trim().split(/\s/)[0] ?? '', code };
}
