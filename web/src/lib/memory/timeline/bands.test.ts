import { describe, expect, it } from 'vitest';
import { isTappable, layoutRows, pan, parentBand, selectPart, spanFromDays, spanOf, spanToDays, tiersFor, zoom, type Band, type BandRow, type Span, type Tier } from './bands';

const band = (tier: Tier, first: string, until: string, messages = 4): Band => ({
	key: `${tier}:${first}`,
	tier,
	first,
	until,
	messages,
	state: 'fresh',
	reason: '',
	item_id: '',
	text: '',
	tokens: 10,
	shown: false,
	important: false
});
const MONTH = band('month', '2026-10-01', '2026-11-01');
const WEEK = band('week', '2026-10-05', '2026-10-12');
const DAY = band('day', '2026-10-06', '2026-10-07', 1);

describe('the timeline layout', () => {
	it('places bands by time: widths are shares of the span', () => {
		const rows = layoutRows([MONTH, WEEK, DAY], spanOf([MONTH]));
		expect(rows.map((row) => row.tier)).toEqual(['month', 'week', 'day']);
		expect(rows[0]?.bands[0]).toMatchObject({ left: 0, width: 100 });
		expect(rows[1]?.bands[0]?.width).toBeCloseTo((7 / 31) * 100);
	});

	it('clips bands that reach beyond the span', () => {
		const [month] = layoutRows([MONTH, WEEK], spanOf([WEEK]));
		expect(month?.bands[0]).toMatchObject({ left: 0, width: 100 });
	});

	it('shows shorter periods when zoomed in', () => {
		expect(tiersFor({ from: 0, until: 4000 * 86_400_000 })).toContain('decade');
		expect(tiersFor(spanOf([WEEK]))).toEqual(['week', 'day']);
	});

	it('finds the parent period', () => {
		expect(parentBand([MONTH, WEEK, DAY], DAY)).toBe(WEEK);
		expect(parentBand([MONTH, WEEK, DAY], MONTH)).toBeNull();
	});
});

describe('panning and zooming', () => {
	const whole = spanFromDays('2026-01-01', '2026-12-31') as Span;
	const june = spanFromDays('2026-06-01', '2026-07-01') as Span;

	it('pans by a share, and stops at the edges', () => {
		expect(spanToDays(pan(june, -0.5, whole))).toEqual(['2026-05-17', '2026-06-16']);
		expect(spanToDays(pan(june, 100, whole))).toEqual(['2026-12-01', '2026-12-31']);
	});

	it('zooms around a point, down to a week', () => {
		expect(spanToDays(zoom(june, 0.5, 0, whole))).toEqual(['2026-06-01', '2026-06-16']);
		expect(spanToDays(zoom(june, 0.001, 1, whole))).toEqual(['2026-06-24', '2026-07-01']);
		expect(zoom(june, 1000, 0.3, whole)).toEqual(whole);
	});

	it('selects a part in either direction', () => {
		expect(spanToDays(selectPart(june, 0.8, 0.2, whole))).toEqual(['2026-06-07', '2026-06-25']);
		expect(spanFromDays('2026-07-01', '2026-06-01')).toBeNull();
		expect(spanFromDays('', '')).toBeNull();
	});
});

it('a band that a finger cannot hit is only drawn', () => {
	const row = (width: number, tiny = false) => ({ tier: 'week' as const, tiny, bands: [{ width }] }) as unknown as BandRow;
	expect(isTappable(row(2), 358, true)).toBe(false);
	expect(isTappable(row(2), 358, false)).toBe(true);
	expect(isTappable(row(8), 358, true)).toBe(true);
	expect(isTappable(row(0.5, true), 1_200, false)).toBe(false);
});
