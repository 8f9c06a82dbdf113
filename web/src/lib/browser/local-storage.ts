/** What is kept on this device. A browser that keeps nothing is no trouble: then it holds until the page is closed. */
export function kept(name: string): string | null {
	try {
		return localStorage.getItem(`everloop.${name}`);
	} catch {
		return null;
	}
}

/** Keep something under a name; null: keep it no longer. */
export function keep(name: string, value: string | null): void {
	try {
		if (value === null) localStorage.removeItem(`everloop.${name}`);
		else localStorage.setItem(`everloop.${name}`, value);
	} catch {
		// It holds until the page is closed.
	}
}
