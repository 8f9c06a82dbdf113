/** Usage data as chart series over the same periods and the same scale. */
import type { Schema } from '$lib/api/client';

export type UsageRow = Schema<'SpentOut'>;
export type PeriodUnit = 'day' | 'week' | 'month';
export type Measure = 'cost' | 'tokens' | 'calls' | 'time';

/** One chart: a value for each period, oldest first. */
export type Series = { name: string; values: number[]; total: number };

const VALUES: Record<Measure, (row: UsageRow) => number> = {
	cost: (row) => row.cost_usd,
	tokens: (row) => row.tokens_in + row.tokens_out,
	calls: (row) => row.calls,
	time: (row) => row.seconds
};

/** The first days of the last `count` periods, oldest first; the newest contains `today`. */
export function periodStarts(by: PeriodUnit, count: number, today: string): string[] {
	const at = new Date(`${today}T00:00:00Z`);
	if (by === 'week') at.setUTCDate(at.getUTCDate() - ((at.getUTCDay() + 6) % 7));
	if (by === 'month') at.setUTCDate(1);
	const starts: string[] = [];
	for (let step = 0; step < count; step++) {
		starts.unshift(at.toISOString().slice(0, 10));
		if (by === 'month') at.setUTCMonth(at.getUTCMonth() - 1);
		else at.setUTCDate(at.getUTCDate() - (by === 'week' ? 7 : 1));
	}
	return starts;
}

/** One series for each group of rows, the largest first. */
export function groupSeries(rows: UsageRow[], days: string[], measure: Measure, nameOf: (row: UsageRow) => string): Series[] {
	const groups = new Map<string, number[]>();
	for (const row of rows) {
		const index = days.indexOf(row.since);
		if (index < 0) continue;
		const values = groups.get(nameOf(row)) ?? days.map(() => 0);
		values[index] = (values[index] ?? 0) + VALUES[measure](row);
		groups.set(nameOf(row), values);
	}
	const all = [...groups].map(([name, values]) => ({ name, values, total: sum(values) }));
	const nonZero = all.filter((series) => series.total > 0); // zero series are shown only if all are zero
	return (nonZero.length ? nonZero : all).sort((a, b) => b.total - a.total);
}

/** Format a value for display. */
export function formatMeasure(value: number, measure: Measure): string {
	if (measure === 'cost') return `$${value.toFixed(value > 0 && value < 0.01 ? 4 : 2)}`;
	if (measure === 'time') return value < 90 ? `${value.toFixed(value < 10 ? 1 : 0)} s` : `${Math.round(value / 60)} min`;
	return value.toLocaleString(undefined, { notation: value < 10_000 ? 'standard' : 'compact', maximumFractionDigits: 1 });
}

function sum(values: number[]): number {
	return values.reduce((total, value) => total + value, 0);
}
