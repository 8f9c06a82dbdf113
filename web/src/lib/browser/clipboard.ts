/** Copies text to the clipboard. */
import { toasts } from '$lib/ui';

/** Whether the text was copied; `message` confirms it. Browsers allow this only on localhost and over https. */
export async function copyText(text: string, message = ''): Promise<boolean> {
	try {
		await navigator.clipboard.writeText(text);
		if (message) toasts.show(message);
		return true;
	} catch {
		toasts.error({ message: 'Your browser blocked copying.', hint: 'Select the text and copy it yourself.' });
		return false;
	}
}
