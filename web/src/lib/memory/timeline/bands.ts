/** Layout of the timeline: nested periods as bands, with widths by time; panning and zooming. */
import type { Schema } from '$lib/api/client';
import { TIERS } from '$lib/thread/types';

export type Band = Schema<'BandOut'>;
export type Tier = Band['tier'];
export type Span = { from: number; until: number };
export type PlacedBand = { band: Band; left: number; width: number; opacity: number };
export type BandRow = { tier: Tier; bands: PlacedBand[]; tiny: boolean };

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
export const PAN_STEP = 0.5; // as a share of the visible span
export const ZOOM_STEP = 0.6; // factor of zooming in; its inverse zooms out
const TINY_PERCENT = 0.9; // bands narrower than this are drawn, but cannot be clicked

const THUMB_PX = 24; // the least width of a band that a finger can hit

/** Whether the bands of a row are wide enough to be hit; otherwise they are only drawn. */
export function isTappable(row: BandRow, chartWidth: number, finger: boolean): boolean {
	if (row.tiny) return false;
	const widest = Math.max(...row.bands.map((placed) => placed.width));
	return !finger || !chartWidth || (widest / 100) * chartWidth >= THUMB_PX;
}

const start = (day: string): number => Date.parse(`${day}T00:00:00Z`);
const dayAt = (at: number): string => new Date(Math.round(at / DAY_MS) * DAY_MS).toISOString().slice(0, 10);

/** The span that covers these bands. */
export function spanOf(bands: Band[]): Span {
	const from = Math.min(...bands.map((band) => start(band.first)));
	return { from, until: Math.max(from + DAY_MS, ...bands.map((band) => start(band.until))) };
}

/** Move the visible span by a share of its width; never beyond the whole. */
export function pan(span: Span, share: number, whole: Span): Span {
	const width = span.until - span.from;
	const from = Math.min(Math.max(span.from + width * share, whole.from), whole.until - width);
	return { from, until: from + width };
}

/** Zoom in (a factor below 1) or out around the point at a share of the width. */
export function zoom(span: Span, factor: number, at: number, whole: Span): Span {
	const width = span.until - span.from;
	const next = Math.min(Math.max(width * factor, Math.min(WEEK_MS, width)), whole.until - whole.from);
	const from = span.from + (width - next) * at;
	return pan({ from, until: from + next }, 0, whole);
}

/** The part of the visible span between two shares of its width, a week at least. */
export function selectPart(span: Span, one: number, other: number, whole: Span): Span {
	const width = span.until - span.from;
	const from = span.from + width * Math.min(one, other);
	const next = Math.max(width * Math.abs(other - one), Math.min(WEEK_MS, width));
	return pan({ from, until: from + next }, 0, whole);
}

/** A span as two days, as in the address, and back. */
export const spanToDays = (span: Span): [string, string] => [dayAt(span.from), dayAt(span.until)];
export function spanFromDays(from: string, until: string): Span | null {
	const span = { from: start(from), until: start(until) };
	return span.until > span.from ? span : null;
}

/** Which tiers to show for a visible span. */
export function tiersFor(span: Span): Tier[] {
	const days = (span.until - span.from) / DAY_MS;
	if (days > 3000) return ['decade', 'year', 'month'];
	if (days > 420) return ['year', 'month', 'week'];
	if (days > 8) return ['month', 'week', 'day'];
	return ['week', 'day'];
}

/** The rows of the timeline, longest periods on top. */
export function layoutRows(bands: Band[], span: Span): BandRow[] {
	const visible = bands.filter((band) => start(band.until) > span.from && start(band.first) < span.until);
	return tiersFor(span)
		.map((tier) => layoutRow(tier, visible.filter((band) => band.tier === tier), span))
		.filter((row) => row.bands.length > 0);
}

/** The shortest longer period that contains this one. */
export function parentBand(bands: Band[], band: Band): Band | null {
	const rank = TIERS.indexOf(band.tier);
	const parents = bands.filter(
		(one) => TIERS.indexOf(one.tier) < rank && one.first <= band.first && one.until > band.first
	);
	return parents.sort((a, b) => TIERS.indexOf(b.tier) - TIERS.indexOf(a.tier))[0] ?? null;
}

function layoutRow(tier: Tier, bands: Band[], span: Span): BandRow {
	const most = Math.max(1, ...bands.map((band) => band.messages));
	const width = span.until - span.from;
	const placed = bands.map((band) => {
		const from = Math.max(start(band.first), span.from);
		const until = Math.min(start(band.until), span.until);
		const opacity = 0.25 + 0.75 * Math.sqrt(band.messages / most);
		return { band, left: ((from - span.from) / width) * 100, width: ((until - from) / width) * 100, opacity };
	});
	return { tier, bands: placed, tiny: placed.every((one) => one.width < TINY_PERCENT) };
}
