/** Days and times, in the time zone of this device. */
const DAY_MS = 86_400_000;

/** The day of a moment, as `2026-11-15`. */
export function toIsoDay(moment: string | Date): string {
	const at = new Date(moment);
	const two = (number: number) => String(number).padStart(2, '0');
	return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** Whether a text is a date that can be used. A half-typed year (0002, 0020, 0202) is not. */
export function isIsoDay(text: string): boolean {
	const year = Number(/^(\d{4})-\d\d-\d\d$/.exec(text)?.[1] ?? 0);
	return year > 1970 && year < 9998 && !Number.isNaN(Date.parse(`${text}T00:00`));
}

/** Local midnight of a day, or of the day `later` days after it. */
export function startOfDay(day: string, later = 0): string {
	const at = new Date(`${day}T00:00`);
	at.setDate(at.getDate() + later);
	return at.toISOString();
}

/** A day as a person says it: today, yesterday, or weekday and date; `short` for narrow places. */
export function formatDay(day: string, today: string = toIsoDay(new Date()), length: 'long' | 'short' = 'long'): string {
	const at = new Date(`${day}T12:00`);
	const ago = Math.round((Date.parse(`${today}T12:00`) - at.getTime()) / DAY_MS);
	if (ago === 0) return 'Today';
	if (ago === 1) return 'Yesterday';
	const sameYear = day.slice(0, 4) === today.slice(0, 4);
	return at.toLocaleDateString(undefined, {
		...(length === 'long' ? { weekday: 'long' } : {}),
		day: 'numeric',
		month: length,
		...(sameYear ? {} : { year: 'numeric' })
	});
}

/** A time of day. */
export function formatTime(moment: string): string {
	return new Date(moment).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
}

/** A summarised period as a person says it; `until` is the first day after it. */
export function formatPeriod(tier: string, first: string, until: string): string {
	const at = new Date(`${first}T12:00`);
	if (tier === 'day') return formatDay(first);
	if (tier === 'month') return at.toLocaleDateString(undefined, { month: 'long', year: 'numeric' });
	if (tier === 'year') return first.slice(0, 4);
	const last = new Date(Date.parse(`${until}T12:00`) - DAY_MS);
	if (tier === 'decade') return `${first.slice(0, 4)} to ${toIsoDay(last).slice(0, 4)}`;
	const short = (date: Date) => date.toLocaleDateString(undefined, { day: 'numeric', month: 'short' });
	return `${short(at)} to ${short(last)}`;
}
