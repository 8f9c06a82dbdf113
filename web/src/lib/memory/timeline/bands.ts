/** The pyramid as a picture: windows of time as bands, nested, widths by time. */
import type { Shape } from '$lib/api/client';
import { TIERS } from '$lib/thread/types';

export type Band = Shape<'BandOut'>;
export type Tier = Band['tier'];
export type Span = { from: number; until: number };
export type Placed = { band: Band; left: number; width: number; ink: number };
export type Row = { tier: Tier; bands: Placed[]; small: boolean };

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
export const MOVE = 0.5; // a step to a side, as a share of what is seen
export const CLOSER = 0.6; // a step closer; its inverse is one farther
const SMALL_PERCENT = 0.9; // narrower than this nobody hits: drawn, not pressed

const start = (day: string): number => Date.parse(`${day}T00:00:00Z`);
const dayAt = (at: number): string => new Date(Math.round(at / DAY_MS) * DAY_MS).toISOString().slice(0, 10);

/** From the first day of the first to the last day of the last. */
export function spanOf(bands: Band[]): Span {
	const from = Math.min(...bands.map((band) => start(band.first)));
	return { from, until: Math.max(from + DAY_MS, ...bands.map((band) => start(band.until))) };
}

/** What is seen after moving by a share of it; never beyond the whole. */
export function moved(span: Span, share: number, whole: Span): Span {
	const wide = span.until - span.from;
	const from = Math.min(Math.max(span.from + wide * share, whole.from), whole.until - wide);
	return { from, until: from + wide };
}

/** What is seen from closer (a factor below 1) or from farther; the point at that share stays where it is. */
export function zoomed(span: Span, factor: number, at: number, whole: Span): Span {
	const wide = span.until - span.from;
	const next = Math.min(Math.max(wide * factor, Math.min(WEEK_MS, wide)), whole.until - whole.from);
	const from = span.from + (wide - next) * at;
	return moved({ from, until: from + next }, 0, whole);
}

/** The part of what is seen between two shares of it, a week at least. */
export function between(span: Span, one: number, other: number, whole: Span): Span {
	const wide = span.until - span.from;
	const from = span.from + wide * Math.min(one, other);
	const next = Math.max(wide * Math.abs(other - one), Math.min(WEEK_MS, wide));
	return moved({ from, until: from + next }, 0, whole);
}

/** A span as two days, as an address holds it, and back. */
export const daysOf = (span: Span): [string, string] => [dayAt(span.from), dayAt(span.until)];
export function spanBetween(from: string, until: string): Span | null {
	const span = { from: start(from), until: start(until) };
	return span.until > span.from ? span : null;
}

/** Which tiers are worth drawing when one looks at so many days. */
export function tiersFor(span: Span): Tier[] {
	const days = (span.until - span.from) / DAY_MS;
	if (days > 3000) return ['decade', 'year', 'month'];
	if (days > 420) return ['year', 'month', 'week'];
	if (days > 8) return ['month', 'week', 'day'];
	return ['week', 'day'];
}

/** The rows of the picture, widest windows on top. */
export function rowsOf(bands: Band[], span: Span): Row[] {
	const seen = bands.filter((band) => start(band.until) > span.from && start(band.first) < span.until);
	return tiersFor(span)
		.map((tier) => rowOf(tier, seen.filter((band) => band.tier === tier), span))
		.filter((row) => row.bands.length > 0);
}

/** The window one tier up that holds this one, among those that are known. */
export function above(bands: Band[], band: Band): Band | null {
	const rank = TIERS.indexOf(band.tier);
	const holders = bands.filter(
		(one) => TIERS.indexOf(one.tier) < rank && one.first <= band.first && one.until > band.first
	);
	return holders.sort((a, b) => TIERS.indexOf(b.tier) - TIERS.indexOf(a.tier))[0] ?? null;
}

function rowOf(tier: Tier, bands: Band[], span: Span): Row {
	const most = Math.max(1, ...bands.map((band) => band.messages));
	const wide = span.until - span.from;
	const placed = bands.map((band) => {
		const from = Math.max(start(band.first), span.from);
		const until = Math.min(start(band.until), span.until);
		const ink = 0.25 + 0.75 * Math.sqrt(band.messages / most);
		return { band, left: ((from - span.from) / wide) * 100, width: ((until - from) / wide) * 100, ink };
	});
	return { tier, bands: placed, small: placed.every((one) => one.width < SMALL_PERCENT) };
}
