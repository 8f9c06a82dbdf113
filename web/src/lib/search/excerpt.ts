/** Excerpts of search results, with the query terms marked. */
import { stripMarkdown } from '$lib/format/text';

export type ExcerptPart = { text: string; isMatch: boolean };

const WORD = /[\p{L}\p{N}]+/gu;

/** The terms of a query that are worth marking. */
export function queryTerms(query: string): string[] {
	const words = query.toLowerCase().match(WORD) ?? [];
	return [...new Set(words.filter((word) => word.length > 1))];
}

/** About `length` characters, starting shortly before the first match, split at the matches. */
export function excerpt(text: string, query: string, length = 280): ExcerptPart[] {
	const terms = queryTerms(query);
	const plain = stripMarkdown(text);
	const first = firstMatch(plain, terms);
	const lead = Math.round(length / 5);
	const from = first > lead ? plain.indexOf(' ', first - lead) + 1 : 0;
	const parts = splitAtMatches(plain.slice(from, from + length), terms);
	if (from > 0) parts.unshift({ text: '… ', isMatch: false });
	if (from + length < plain.length) parts.push({ text: ' …', isMatch: false });
	return parts;
}

function matches(word: string, terms: string[]): boolean {
	const lower = word.toLowerCase();
	return terms.some((term) => lower === term || (term.length > 3 && lower.startsWith(term)));
}

function firstMatch(text: string, terms: string[]): number {
	for (const word of text.matchAll(WORD)) if (matches(word[0], terms)) return word.index;
	return 0;
}

function splitAtMatches(text: string, terms: string[]): ExcerptPart[] {
	const parts: ExcerptPart[] = [];
	let end = 0;
	for (const word of text.matchAll(WORD)) {
		if (!matches(word[0], terms)) continue;
		if (word.index > end) parts.push({ text: text.slice(end, word.index), isMatch: false });
		parts.push({ text: word[0], isMatch: true });
		end = word.index + word[0].length;
	}
	if (end < text.length) parts.push({ text: text.slice(end), isMatch: false });
	return parts;
}
