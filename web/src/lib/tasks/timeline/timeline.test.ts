import { expect, it } from 'vitest';
import { layOut } from './timeline';

it('draws bars as shares of the time from the first of them until now', () => {
	const picture = layOut({
		since: '2026-11-17T12:00:00Z',
		now: '2026-11-18T12:00:00Z',
		tasks: [
			{
				task_id: 't1',
				title: 'One',
				state: 'waiting',
				spans: [
					{ kind: 'running', since: '2026-11-18T11:00:00Z', until: '2026-11-18T11:15:00Z' },
					{ kind: 'waiting', since: '2026-11-18T11:15:00Z', until: null }
				]
			}
		]
	});
	expect(picture.rows[0]?.bars).toEqual([
		{ kind: 'running', left: 0, width: 25, minutes: 15 },
		{ kind: 'waiting', left: 25, width: 75, minutes: 45 }
	]);
	expect(picture.waitedMinutes).toBe(45);
});
