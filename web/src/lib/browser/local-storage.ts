/** Values kept in this browser's local storage. Where storage is blocked, nothing is kept and nothing fails. */
export function readLocal(name: string): string | null {
	try {
		return localStorage.getItem(`everloop.${name}`);
	} catch {
		return null;
	}
}

/** Remove every value whose name begins with a prefix. */
export function clearLocal(prefix: string): void {
	try {
		const names = Object.keys(localStorage).filter((name) => name.startsWith(`everloop.${prefix}`));
		for (const name of names) localStorage.removeItem(name);
	} catch {
		// Storage is blocked: there is nothing to remove.
	}
}

/** Store a value under a name; null removes it. */
export function writeLocal(name: string, value: string | null): void {
	try {
		if (value === null) localStorage.removeItem(`everloop.${name}`);
		else localStorage.setItem(`everloop.${name}`, value);
	} catch {
		// Storage is blocked: the value lasts until the page is closed.
	}
}
