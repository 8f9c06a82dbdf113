/** One sentence about a memory: where it comes from, and whether answers use it. */
import type { Schema } from '$lib/api/client';
import { formatDate } from '$lib/format/text';

type Item = Schema<'ItemOut'>;

const VERBS: Record<string, string> = { message: 'said this', quote: 'said this', summary: 'summarised this' };

/** The name of who recorded something. In your conversations, models act as `agent:thread`. */
export function authorName(actor: string): string {
	if (actor === 'user') return 'You';
	return actor === 'agent:thread' || actor === 'engine' ? 'Everloop' : actor;
}

/** Who recorded it and when. */
function describeSource(item: Item): string {
	const who = authorName(item.kind === 'summary' && item.author !== 'user' ? 'engine' : item.author);
	const verb = item.learned_via === 'imported' ? 'imported this' : (VERBS[item.kind] ?? 'saved this');
	return `${who} ${verb} on ${formatDate(item.happened_at)}`;
}

/** Whether answers use it, and why not. */
function describeUse(item: Item, now: number): string {
	if (item.retired) return 'it is archived, so answers no longer use it';
	if (item.holds_until !== null && Date.parse(item.holds_until) <= now) return 'it has expired, so answers use it only if nothing newer is known';
	if (item.contradicts.length) return 'another memory contradicts it';
	return item.pinned ? 'it is pinned, so it comes first' : 'answers can use it';
}

export function describeMemory(item: Item, now: number = Date.now()): string {
	return `${describeSource(item)}; ${describeUse(item, now)}.`;
}
