import { describe, expect, it } from 'vitest';
import { dayInWords, isDay, windowInWords } from './days';

describe('days in words', () => {
	it('says today and yesterday', () => {
		expect(dayInWords('2026-11-15', '2026-11-15')).toBe('Today');
		expect(dayInWords('2026-11-14', '2026-11-15')).toBe('Yesterday');
	});
	it('says the year when it is another one', () => {
		expect(dayInWords('2024-03-01', '2026-11-15')).toContain('2024');
		expect(dayInWords('2026-03-01', '2026-11-15')).not.toContain('2026');
	});
	it('crosses a change of the clock', () => {
		expect(dayInWords('2026-03-29', '2026-03-30')).toBe('Yesterday');
	});
});

it('tells a day from what is none, or not yet', () => {
	expect(['2026-11-15', '1971-01-01'].filter(isDay)).toHaveLength(2);
	expect(['', 'x', '2026', '2026-13-01', '0002-11-15', '9999-12-31', '2026-11-15T00:00'].filter(isDay)).toEqual([]);
});

it('says windows by their tier', () => {
	expect(windowInWords('year', '2024-01-01', '2025-01-01')).toBe('2024');
	expect(windowInWords('decade', '2010-01-01', '2020-01-01')).toBe('2010 to 2019');
});
