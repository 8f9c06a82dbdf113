/** The part of a text that answers a search, with the words that were searched for. */
import { plainly } from '$lib/format/text';

export type Part = { text: string; hit: boolean };

const WORD = /[\p{L}\p{N}]+/gu;

/** The words of a query that are worth marking. */
export function wordsOf(query: string): string[] {
	const words = query.toLowerCase().match(WORD) ?? [];
	return [...new Set(words.filter((word) => word.length > 1))];
}

/** About `room` characters from shortly before the first word that was found, in parts. */
export function excerpt(text: string, query: string, room = 280): Part[] {
	const words = wordsOf(query);
	const flat = plainly(text);
	const first = firstHit(flat, words);
	const lead = Math.round(room / 5);
	const from = first > lead ? flat.indexOf(' ', first - lead) + 1 : 0;
	const cut = flat.slice(from, from + room);
	const parts = marked(cut, words);
	if (from > 0) parts.unshift({ text: '… ', hit: false });
	if (from + room < flat.length) parts.push({ text: ' …', hit: false });
	return parts;
}

function isHit(word: string, words: string[]): boolean {
	const low = word.toLowerCase();
	return words.some((one) => low === one || (one.length > 3 && low.startsWith(one)));
}

function firstHit(text: string, words: string[]): number {
	for (const found of text.matchAll(WORD)) if (isHit(found[0], words)) return found.index;
	return 0;
}

function marked(text: string, words: string[]): Part[] {
	const parts: Part[] = [];
	let done = 0;
	for (const found of text.matchAll(WORD)) {
		if (!isHit(found[0], words)) continue;
		if (found.index > done) parts.push({ text: text.slice(done, found.index), hit: false });
		parts.push({ text: found[0], hit: true });
		done = found.index + found[0].length;
	}
	if (done < text.length) parts.push({ text: text.slice(done), hit: false });
	return parts;
}
