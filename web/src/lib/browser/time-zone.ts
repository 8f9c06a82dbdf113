/** Where this device is. The first call costs a slow phone a tenth of a second: nothing at the start waits for it. */
export function zoneHere(): string {
	return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
