import { expect, test } from 'vitest';
import { later, minutesBetween, nextDayAt, toField } from './clock';

test('a story clock has no time zone', () => {
	expect(toField('2026-05-01T18:00:00+00:00')).toBe('2026-05-01T18:00');
	expect(toField('2026-05-01T18:00')).toBe('2026-05-01T18:00');
	expect(toField('nonsense')).toBe('');
});

test('time goes on over midnight and months', () => {
	expect(later('2026-05-31T23:50', 20)).toBe('2026-06-01T00:10');
	expect(nextDayAt('2026-05-31T23:50', 9)).toBe('2026-06-01T09:00');
	expect(minutesBetween('2026-05-01T18:00', '2026-05-02T18:00')).toBe(1440);
});
