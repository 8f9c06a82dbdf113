/** Something that a person asked for, and that may fail. */
import { problemOf } from '$lib/api/client';
import { toasts } from '$lib/ui';

/** Do it, and say what goes wrong; whether it went well. */
export async function tried(act: () => Promise<unknown>): Promise<boolean> {
	try {
		await act();
		return true;
	} catch (error) {
		toasts.trouble(problemOf(error));
		return false;
	}
}
