/** A new random id. `randomUUID` needs a secure context, which plain http on a home network is not. */
export function newId(): string {
	const bytes = crypto.getRandomValues(new Uint8Array(12));
	return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
