/** Whether an address would send a key readable over the network: plain http to another machine. */
export function sendsKeyInTheClear(address: string): boolean {
	const text = address.trim();
	if (!text) return false;
	try {
		const url = new URL(text.includes('://') ? text : `http://${text}`);
		return url.protocol === 'http:' && !isLoopback(url.hostname);
	} catch {
		return false; // it is refused when it is tested
	}
}

function isLoopback(host: string): boolean {
	return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}
