/** The requirements for approval in words: what was found, and the next step. */
import type { Schema } from '$lib/api/client';
import { formatDay, formatTime, toIsoDay } from '$lib/format/days';
import { capitalize, pluralize } from '$lib/format/text';

export type Check = Schema<'CheckOut'>;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** "5 of 9 requirements met". */
export function describeProgress(checks: Check[]): string {
	const met = checks.filter((check) => check.passed).length;
	return met < checks.length ? `${met} of ${checks.length} requirements met` : 'All requirements met';
}

/** What a check found, as a sentence; `status` is the lesson's, as people read it. */
export function describeFact(check: Check, status = ''): string {
	if (check.name === 'standing' && status) return `It is ${status.toLowerCase()}.`;
	if (check.name === 'age' && check.count !== null) return `Its text is ${describeDuration(check.count)} old.`;
	return `${capitalize(check.fact)}.`;
}

/** The next steps for a check that is not met, each as a sentence. */
export function nextSteps(check: Check, now = new Date()): string[] {
	if (check.name === 'age' && check.ready_at && !check.passed) return [`Wait until ${describeMoment(check.ready_at, now)}.`];
	return check.violations.map((violation) => `${capitalize(violation.satisfied_by)}.`);
}

/** A number of seconds as people say it: "40 minutes", "23 hours", "12 days". */
export function describeDuration(seconds: number): string {
	if (seconds < HOUR) return pluralize(Math.floor(seconds / MINUTE), 'minute');
	if (seconds < 3 * DAY) return pluralize(Math.floor(seconds / HOUR), 'hour');
	return pluralize(Math.floor(seconds / DAY), 'day');
}

/** A moment in the time zone of this device: "tomorrow 18:31". */
function describeMoment(moment: string, now: Date): string {
	const day = toIsoDay(moment);
	if (day === toIsoDay(now)) return `today ${formatTime(moment)}`;
	if (day === toIsoDay(new Date(now.getTime() + DAY * 1000))) return `tomorrow ${formatTime(moment)}`;
	return `${formatDay(day)} ${formatTime(moment)}`;
}
