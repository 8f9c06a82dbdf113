import { describe, expect, it } from 'vitest';
import { above, between, daysOf, moved, rowsOf, spanBetween, spanOf, tiersFor, zoomed, type Band, type Span, type Tier } from './bands';

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

describe('the picture of the pyramid', () => {
	it('places bands by time: widths are shares of the span', () => {
		const rows = rowsOf([MONTH, WEEK, DAY], spanOf([MONTH]));
		expect(rows.map((row) => row.tier)).toEqual(['month', 'week', 'day']);
		expect(rows[0]?.bands[0]).toMatchObject({ left: 0, width: 100 });
		expect(rows[1]?.bands[0]?.width).toBeCloseTo((7 / 31) * 100);
	});

	it('cuts what reaches beyond the span', () => {
		const [month] = rowsOf([MONTH, WEEK], spanOf([WEEK]));
		expect(month?.bands[0]).toMatchObject({ left: 0, width: 100 });
	});

	it('shows smaller windows the closer one looks', () => {
		expect(tiersFor({ from: 0, until: 4000 * 86_400_000 })).toContain('decade');
		expect(tiersFor(spanOf([WEEK]))).toEqual(['week', 'day']);
	});

	it('knows the window above', () => {
		expect(above([MONTH, WEEK, DAY], DAY)).toBe(WEEK);
		expect(above([MONTH, WEEK, DAY], MONTH)).toBeNull();
	});
});

describe('moving and zooming', () => {
	const whole = spanBetween('2026-01-01', '2026-12-31') as Span;
	const june = spanBetween('2026-06-01', '2026-07-01') as Span;

	it('moves by a share, and stops at the edges', () => {
		expect(daysOf(moved(june, -0.5, whole))).toEqual(['2026-05-17', '2026-06-16']);
		expect(daysOf(moved(june, 100, whole))).toEqual(['2026-12-01', '2026-12-31']);
	});

	it('zooms around a point, from everything to a week', () => {
		expect(daysOf(zoomed(june, 0.5, 0, whole))).toEqual(['2026-06-01', '2026-06-16']);
		expect(daysOf(zoomed(june, 0.001, 1, whole))).toEqual(['2026-06-24', '2026-07-01']);
		expect(zoomed(june, 1000, 0.3, whole)).toEqual(whole);
	});

	it('shows the part that was drawn over, whichever way', () => {
		expect(daysOf(between(june, 0.8, 0.2, whole))).toEqual(['2026-06-07', '2026-06-25']);
		expect(spanBetween('2026-07-01', '2026-06-01')).toBeNull();
		expect(spanBetween('', '')).toBeNull();
	});
});
