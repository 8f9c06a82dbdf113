/** A new id. `randomUUID` would want TLS, which a home network seldom has. */
export function newId(): string {
	const bytes = crypto.getRandomValues(new Uint8Array(12));
	return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
