/** Turns a transcript into rows: text, output, and one row for each tool call with its result. Pure, so that it can be tested. */
import type { Schema } from '$lib/api/client';

export type TranscriptPart = Schema<'TranscriptPartOut'>;
export type Entry = Schema<'TranscriptEntryOut'>;
export type TranscriptRow =
	| { type: 'attempt'; key: string; attempt: number; at: string }
	| { type: 'text' | 'output' | 'notice' | 'steering'; key: string; text: string }
	| { type: 'tool'; key: string; attempt: number; name: string; text: string; result: string | null };

/** The rows of a transcript. Output that follows output is one row. */
export function transcriptRows(parts: TranscriptPart[]): TranscriptRow[] {
	const rows: TranscriptRow[] = [];
	const calls = new Map<string, Extract<TranscriptRow, { type: 'tool' }>>();
	let attempt = 0;
	for (const part of parts) {
		if (part.attempt !== attempt) rows.push({ type: 'attempt', key: `a${part.attempt}-${part.position}`, attempt: part.attempt, at: part.at });
		attempt = part.attempt;
		part.entries.forEach((entry, index) => add(rows, calls, entry, { key: `${part.position}.${index}`, attempt }));
	}
	return rows;
}

function add(rows: TranscriptRow[], calls: Map<string, Extract<TranscriptRow, { type: 'tool' }>>, entry: Entry, at: { key: string; attempt: number }): void {
	const last = rows.at(-1);
	if (entry.kind === 'tool_call') {
		const row = { type: 'tool' as const, ...at, name: entry.name, text: entry.text, result: null };
		if (entry.ref) calls.set(entry.ref, row);
		rows.push(row);
	} else if (entry.kind === 'tool_result') {
		const call = calls.get(entry.ref);
		if (call) call.result = (call.result ?? '') + entry.text;
		else rows.push({ type: 'tool', ...at, name: entry.name || 'Result', text: '', result: entry.text });
	} else if (entry.kind === 'output' && last?.type === 'output') {
		last.text += entry.text;
	} else {
		rows.push({ type: entry.kind as 'text' | 'output' | 'notice' | 'steering', key: at.key, text: entry.text });
	}
}

/** A place that a search found: where it was recorded, and the words that were looked for. */
export type Place = { at: number; find: string };

/** The row that shows a place, with the first of the words as it stands there. What came later may be folded into an earlier row. */
export function findRow(rows: TranscriptRow[], place: Place): { key: string; text: string } | null {
	const words = place.find.toLowerCase().split(/\s+/).filter(Boolean);
	let best: { key: string; text: string; score: number } | null = null;
	for (const row of rows) {
		if (row.type === 'attempt' || Number.parseInt(row.key) > place.at) continue;
		const shown = row.type === 'tool' ? `${row.name}\n${row.text}\n${row.result ?? ''}` : row.text;
		const lower = shown.toLowerCase();
		const found = words.filter((word) => lower.includes(word));
		const [word] = found;
		if (!word || (best && found.length < best.score)) continue;
		const first = lower.indexOf(word);
		best = { key: row.key, text: shown.slice(first, first + word.length), score: found.length };
	}
	return best && { key: best.key, text: best.text };
}

/** What a tool call is about, in a few words: its command, file or query. */
export function summarizeCall(text: string): string {
	try {
		const values = Object.values(JSON.parse(text) as Record<string, unknown>);
		const first = values.find((value) => typeof value === 'string' && value);
		return String(first ?? '').split('\n')[0]?.slice(0, 120) ?? '';
	} catch {
		return text.split('\n')[0]?.slice(0, 120) ?? '';
	}
}
