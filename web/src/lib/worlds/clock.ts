/** The clock of a story. It has no time zone of its own: what it says is what the people in the story would read. */
const IN_STORY = { timeZone: 'UTC' } as const;

const parse = (clock: string): Date => new Date(/(Z|[+-]\d\d:\d\d)$/.test(clock) ? clock : `${clock}Z`);

/** Day and time: `Fri, 8 May 2026, 09:00`. */
export function formatClock(clock: string): string {
	const moment = parse(clock);
	if (Number.isNaN(moment.getTime())) return clock;
	return moment.toLocaleString(undefined, { ...IN_STORY, weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' });
}

/** Weekday and time only, for narrow places: `Friday, 09:00`. */
export function formatClockShort(clock: string): string {
	const moment = parse(clock);
	if (Number.isNaN(moment.getTime())) return clock;
	return moment.toLocaleString(undefined, { ...IN_STORY, weekday: 'long', hour: '2-digit', minute: '2-digit' });
}

/** The value of a `datetime-local` field. */
export function toField(clock: string): string {
	const moment = parse(clock);
	return Number.isNaN(moment.getTime()) ? '' : moment.toISOString().slice(0, 16);
}

/** The story's clock so many minutes later. */
export function later(clock: string, minutes: number): string {
	return new Date(parse(clock).getTime() + minutes * 60_000).toISOString().slice(0, 16);
}

/** The next day at an hour. */
export function nextDayAt(clock: string, hour: number): string {
	const moment = parse(clock);
	moment.setUTCDate(moment.getUTCDate() + 1);
	moment.setUTCHours(hour, 0, 0, 0);
	return moment.toISOString().slice(0, 16);
}

/** How many minutes lie between two times. */
export function minutesBetween(from: string, to: string): number {
	return Math.round((parse(to).getTime() - parse(from).getTime()) / 60_000);
}
