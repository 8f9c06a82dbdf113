import { describe, expect, it } from 'vitest';
import { cappedCount, formatAge, receiptOf, snoozeTimes, splitHidden, type InboxRequest } from './requests';

describe('requests', () => {
	it('marks characters that were written out', () => {
		expect(splitHidden('rm \\u{202e}x')).toEqual([
			{ text: 'rm ', hidden: false },
			{ text: '\\u{202e}', hidden: true },
			{ text: 'x', hidden: false }
		]);
		expect(splitHidden('ls')).toEqual([{ text: 'ls', hidden: false }]);
	});

	it('says who answered, and where', () => {
		const closing = { outcome: 'answered', choice: 'approve', actor: 'user', device: 'Pixel', at: '2026-11-18T14:02:00Z', position: 4 };
		const choices = [{ value: 'approve', label: 'Allow', description: '', needs_text: false }];
		expect(receiptOf({ choices, closing } as unknown as InboxRequest)).toContain('“Allow”: answered by you on Pixel, ');
	});

	it('puts off to times that have not passed', () => {
		const now = new Date(2026, 10, 18, 20, 0); // a Wednesday evening
		const times = snoozeTimes(now);
		expect(times.map((one) => one.label)).toEqual(['In an hour', 'Tomorrow morning', 'Next Monday']);
		expect(times.every((one) => one.until > now)).toBe(true);
		expect(times.at(-1)?.until).toEqual(new Date(2026, 10, 23, 8));
	});

	it('shortens ages and counts', () => {
		const now = new Date('2026-11-18T12:00:00Z');
		expect(formatAge('2026-11-18T11:15:00Z', now)).toBe('45 min');
		expect(formatAge('2026-11-15T12:00:00Z', now)).toBe('3 days');
		expect([cappedCount(3), cappedCount(1200)]).toEqual(['3', '99+']);
	});
});
