/** What was used, as small charts of one shape: the same stretches of time, the same scale. */
import type { Shape } from '$lib/api/client';

export type Spent = Shape<'SpentOut'>;
export type Stretch = 'day' | 'week' | 'month';
export type Measure = 'cost' | 'tokens' | 'calls' | 'time';

/** One small chart: a value for each stretch, oldest first. */
export type Panel = { name: string; values: number[]; total: number };

const VALUES: Record<Measure, (row: Spent) => number> = {
	cost: (row) => row.cost_usd,
	tokens: (row) => row.tokens_in + row.tokens_out,
	calls: (row) => row.calls,
	time: (row) => row.seconds
};

/** The first days of the last `count` stretches, oldest first; the newest holds `today`. */
export function stretches(by: Stretch, count: number, today: string): string[] {
	const at = new Date(`${today}T00:00:00Z`);
	if (by === 'week') at.setUTCDate(at.getUTCDate() - ((at.getUTCDay() + 6) % 7));
	if (by === 'month') at.setUTCDate(1);
	const found: string[] = [];
	for (let step = 0; step < count; step++) {
		found.unshift(at.toISOString().slice(0, 10));
		if (by === 'month') at.setUTCMonth(at.getUTCMonth() - 1);
		else at.setUTCDate(at.getUTCDate() - (by === 'week' ? 7 : 1));
	}
	return found;
}

/** A chart for each name that `of` finds in the rows, the largest first. */
export function panels(rows: Spent[], days: string[], measure: Measure, of: (row: Spent) => string): Panel[] {
	const found = new Map<string, number[]>();
	for (const row of rows) {
		const index = days.indexOf(row.since);
		if (index < 0) continue;
		const values = found.get(of(row)) ?? days.map(() => 0);
		values[index] = (values[index] ?? 0) + VALUES[measure](row);
		found.set(of(row), values);
	}
	const all = [...found].map(([name, values]) => ({ name, values, total: sum(values) }));
	const some = all.filter((panel) => panel.total > 0); // what took nothing is shown only if nothing took anything
	return (some.length ? some : all).sort((a, b) => b.total - a.total);
}

/** A value as it is read. */
export function worth(value: number, measure: Measure): string {
	if (measure === 'cost') return `$${value.toFixed(value > 0 && value < 0.01 ? 4 : 2)}`;
	if (measure === 'time') return value < 90 ? `${value.toFixed(value < 10 ? 1 : 0)} s` : `${Math.round(value / 60)} min`;
	return value.toLocaleString(undefined, { notation: value < 10_000 ? 'standard' : 'compact', maximumFractionDigits: 1 });
}

function sum(values: number[]): number {
	return values.reduce((total, value) => total + value, 0);
}
