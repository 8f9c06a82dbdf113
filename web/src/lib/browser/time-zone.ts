/** The time zone of this device. The first call takes a slow phone a tenth of a second, so nothing at the start waits for it. */
export function deviceTimeZone(): string {
	return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
