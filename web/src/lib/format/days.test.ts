import { describe, expect, it } from 'vitest';
import { formatDay, isIsoDay, formatPeriod } from './days';

describe('formatting a day', () => {
	it('says today and yesterday', () => {
		expect(formatDay('2026-11-15', '2026-11-15')).toBe('Today');
		expect(formatDay('2026-11-14', '2026-11-15')).toBe('Yesterday');
	});
	it('says the year when it is another one', () => {
		expect(formatDay('2024-03-01', '2026-11-15')).toContain('2024');
		expect(formatDay('2026-03-01', '2026-11-15')).not.toContain('2026');
	});
	it('works across a daylight saving change', () => {
		expect(formatDay('2026-03-29', '2026-03-30')).toBe('Yesterday');
	});
});

it('accepts complete dates only', () => {
	expect(['2026-11-15', '1971-01-01'].filter(isIsoDay)).toHaveLength(2);
	expect(['', 'x', '2026', '2026-13-01', '0002-11-15', '9999-12-31', '2026-11-15T00:00'].filter(isIsoDay)).toEqual([]);
});

it('formats periods by their tier', () => {
	expect(formatPeriod('year', '2024-01-01', '2025-01-01')).toBe('2024');
	expect(formatPeriod('decade', '2010-01-01', '2020-01-01')).toBe('2010 to 2019');
});
