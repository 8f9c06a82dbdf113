/** What the inbox says about a request: its kind in words, its receipt, characters that cannot be seen, times to put it off. */
import type { Schema } from '$lib/api/client';
import { routes } from '$lib/routes';

export type InboxRequest = Schema<'RequestOut'>;
export type Choice = Schema<'ChoiceOut'>;
export type BadgeState = 'working' | 'waiting' | 'done' | 'trouble' | 'none';

const KINDS: Record<string, { label: string; state: BadgeState }> = {
	question: { label: 'Question', state: 'waiting' },
	plan_review: { label: 'Plan', state: 'waiting' },
	approval: { label: 'Approval', state: 'waiting' },
	proposal: { label: 'Proposed task', state: 'waiting' },
	review: { label: 'Review', state: 'waiting' },
	paused: { label: 'Paused', state: 'waiting' },
	routing: { label: 'Which task?', state: 'waiting' },
	failure: { label: 'Failed', state: 'trouble' },
	uncertain: { label: 'Uncertain', state: 'trouble' },
	failed_import: { label: 'Import failed', state: 'trouble' },
	finished: { label: 'Finished', state: 'done' },
	gate_decision: { label: 'Lesson', state: 'waiting' },
	stale_lesson: { label: 'Old lesson', state: 'waiting' }
};

/** The label and the colour of a kind of request. */
export function describeKind(kind: string): { label: string; state: BadgeState } {
	return KINDS[kind] ?? { label: kind.replaceAll('_', ' '), state: 'waiting' };
}

/** How much a choice matters: the first is the usual one, and what ends or denies something stands out. */
export function variantOf(choice: Choice, index: number): 'primary' | 'secondary' | 'danger' {
	if (['cancel', 'discard', 'deny'].includes(choice.value)) return 'danger';
	return index === 0 ? 'primary' : 'secondary';
}

/** Who closed a request, where, when and with what: `Allow: you, on Pixel, 14:02`. */
export function receiptOf(request: InboxRequest): string {
	const closing = request.closing;
	if (!closing) return '';
	const at = new Date(closing.at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
	const label = request.choices.find((one) => one.value === closing.choice)?.label ?? closing.choice;
	if (closing.outcome === 'withdrawn') return `No longer asked, ${at}`;
	if (closing.outcome === 'expired') return `Nobody answered in time, so “${label}” counts, ${at}`;
	const who = closing.actor === 'user' ? 'you' : closing.actor;
	const what = closing.choice === 'answer' ? 'Answered' : `“${label}”: answered`;
	return `${what} by ${who}${closing.device ? ` on ${closing.device}` : ''}, ${at}`;
}

/** Whether the text of such a request is written by an agent for people, as Markdown. What would run is shown word for word. */
export const isMarkdown = (kind: string): boolean => ['plan_review', 'review', 'finished', 'gate_decision', 'stale_lesson'].includes(kind);

/** The page of what a request is about; null if there is none. */
export function linkOf(request: { kind: string; subject: string }): { label: string; href: string } | null {
	const { kind, subject } = request;
	const id = subject.slice(subject.indexOf(':') + 1);
	if (subject.startsWith('task:')) return kind === 'review' ? { label: 'See changes', href: routes.task(id, 'changes') } : { label: 'Open task', href: routes.task(id) };
	if (subject.startsWith('lesson:')) return { label: 'Open lesson', href: routes.lessons(id) };
	if (subject.startsWith('import:')) return { label: 'Open imports', href: `${routes.settings()}#import-export` };
	return null;
}

/** A piece of a text. `hidden` is a character that cannot be seen, which the server has written out, such as `\u{202e}`. */
export type TextPart = { text: string; hidden: boolean };

const WRITTEN_OUT = /(\\u\{[0-9a-f]{4,6}\})/;

/** Split a text at the invisible characters that were written out. */
export function splitHidden(text: string): TextPart[] {
	return text
		.split(WRITTEN_OUT)
		.map((part, index) => ({ text: part, hidden: index % 2 === 1 }))
		.filter((part) => part.text);
}

/** The times to which a request can be put off. */
export function snoozeTimes(now: Date): { label: string; until: Date }[] {
	const at = (days: number, hour: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, hour);
	const evening = at(0, 18);
	const daysToMonday = ((8 - now.getDay()) % 7) || 7;
	return [
		{ label: 'In an hour', until: new Date(now.getTime() + 3_600_000) },
		...(evening > now ? [{ label: 'This evening', until: evening }] : []),
		{ label: 'Tomorrow morning', until: at(1, 8) },
		{ label: 'Next Monday', until: at(daysToMonday, 8) }
	];
}

/** How long something waits: `5 min`, `3 h`, `2 days`. */
export function formatAge(since: string, now: Date = new Date()): string {
	const minutes = Math.max(0, Math.round((now.getTime() - Date.parse(since)) / 60_000));
	if (minutes < 1) return 'just now';
	if (minutes < 60) return `${minutes} min`;
	if (minutes < 48 * 60) return `${Math.round(minutes / 60)} h`;
	return `${Math.round(minutes / 1440)} days`;
}

/** A count for a badge; large ones are capped. */
export function cappedCount(count: number): string {
	return count > 99 ? '99+' : String(count);
}
