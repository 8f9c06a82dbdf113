import { describe, expect, it } from 'vitest';
import { formatMeasure, groupSeries, periodStarts, type UsageRow } from './usage';

const row = (given: Partial<UsageRow>): UsageRow => ({
	since: '2026-11-09',
	model: 'm',
	purpose: 'answer',
	calls: 1,
	tokens_in: 10,
	tokens_out: 5,
	tokens_cached: 0,
	cost_usd: 0.5,
	unpriced: 0,
	seconds: 2,
	...given
});

describe('the starts of periods', () => {
	it('are weeks that begin on Monday, the newest last', () => {
		expect(periodStarts('week', 3, '2026-11-15')).toEqual(['2026-10-26', '2026-11-02', '2026-11-09']);
	});

	it('are months across a year', () => {
		expect(periodStarts('month', 3, '2026-01-31')).toEqual(['2025-11-01', '2025-12-01', '2026-01-01']);
	});
});

describe('series', () => {
	it('add up rows of the same name, the largest first', () => {
		const rows = [row({ model: 'small', cost_usd: 0.1 }), row({}), row({ purpose: 'summary' })];
		const series = groupSeries(rows, ['2026-11-02', '2026-11-09'], 'cost', (one) => one.model);
		expect(series).toEqual([
			{ name: 'm', values: [0, 1], total: 1 },
			{ name: 'small', values: [0, 0.1], total: 0.1 }
		]);
	});

	it('ignore rows before the first period', () => {
		expect(groupSeries([row({ since: '2020-01-06' })], ['2026-11-09'], 'calls', () => 'all')).toEqual([]);
	});
});

it('does not round a small cost to zero', () => {
	expect(formatMeasure(0.0004, 'cost')).toBe('$0.0004');
});
