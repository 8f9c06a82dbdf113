/**
 * This device's half of its secret, kept where only pages of this origin can read it.
 *
 * The other half is in a cookie, which browsers send to every port of a host name. Only both together are accepted. Links of pictures and
 * downloads can send no header; they carry a ticket that the server made for this device.
 */
import { readLocal, writeLocal } from '$lib/browser/local-storage';

const HEADER = 'x-everloop-key';
let unsaved = ''; // used where storage is blocked; lasts until the page is closed

class Links {
	ticket = $state('');
}

const links = new Links();

/** The headers that prove this device, together with its cookie. Read every time: another tab may have signed in again. */
export function keyHeaders(): Record<string, string> {
	const key = readLocal('key') ?? unsaved;
	return key ? { [HEADER]: key } : {};
}

/** Keep the key of this device; null forgets it. */
export function setKey(key: string | null): void {
	unsaved = key ?? '';
	writeLocal('key', key);
}

/** Use this ticket for links from now on. */
export function setTicket(ticket: string): void {
	links.ticket = ticket;
}

/** The address of a file or an export, as a link that this device may open. */
export function withTicket(path: string): string {
	return `${path}${path.includes('?') ? '&' : '?'}ticket=${encodeURIComponent(links.ticket)}`;
}
