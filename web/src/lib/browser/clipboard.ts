/** Put words where the person can paste them. */
import { toasts } from '$lib/ui';

/** Whether it is there now. `words` say so. Browsers allow it only at an address that is safe: this computer's own, or one with https. */
export async function copy(text: string, words = ''): Promise<boolean> {
	try {
		await navigator.clipboard.writeText(text);
		if (words) toasts.say(words);
		return true;
	} catch {
		toasts.trouble({ error: 'The browser does not let this page copy.', hint: 'Choose the text, and copy it yourself.' });
		return false;
	}
}
