/** The picture of what ran in parallel: bars as shares of the shown time. Pure, so that it can be tested. */
import type { Schema } from '$lib/api/client';

export type Timeline = Schema<'TimelineOut'>;
export type Bar = { kind: 'queued' | 'running' | 'waiting'; left: number; width: number; minutes: number };
export type TimelineRow = { taskId: string; title: string; bars: Bar[]; waitedMinutes: number };
export type Picture = { from: number; until: number; rows: TimelineRow[]; waitedMinutes: number };

const MINUTE_MS = 60_000;
const SHORTEST_MS = 5 * MINUTE_MS;

/** Lay out a timeline. It begins with the first bar, so that a quiet morning takes no room. */
export function layOut(timeline: Timeline): Picture {
	const since = Date.parse(timeline.since);
	const until = Date.parse(timeline.now);
	const starts = timeline.tasks.flatMap((task) => task.spans.map((span) => Date.parse(span.since)));
	const from = Math.min(Math.max(since, Math.min(...starts)), until - SHORTEST_MS);
	const rows = timeline.tasks.map((task) => {
		const bars = task.spans.map((span) => toBar(span, from, until));
		const waitedMinutes = bars.filter((bar) => bar.kind === 'waiting').reduce((sum, bar) => sum + bar.minutes, 0);
		return { taskId: task.task_id, title: task.title, bars, waitedMinutes };
	});
	return { from, until, rows, waitedMinutes: rows.reduce((sum, row) => sum + row.waitedMinutes, 0) };
}

function toBar(span: Schema<'SpanOut'>, from: number, until: number): Bar {
	const begin = Math.max(Date.parse(span.since), from);
	const end = Math.max(span.until ? Date.parse(span.until) : until, begin);
	const share = (ms: number) => (100 * ms) / (until - from);
	return { kind: span.kind, left: share(begin - from), width: share(end - begin), minutes: Math.round((end - begin) / MINUTE_MS) };
}
