/** Put words where the person can paste them. */
import { toasts } from '$lib/ui';

/** Browsers allow it only at an address that is safe: this computer's own, or one with https. */
export async function copy(text: string, words: string): Promise<void> {
	try {
		await navigator.clipboard.writeText(text);
		toasts.say(words);
	} catch {
		toasts.trouble({ error: 'The browser does not let this page copy.', hint: 'Choose the text, and copy it yourself.' });
	}
}
