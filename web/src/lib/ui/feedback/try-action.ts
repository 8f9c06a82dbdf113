/** Something that a person asked for, and that may fail. */
import { Problem, problemOf } from '$lib/api/client';
import { toasts } from '$lib/ui';

/** Why it failed. Pages are read again by themselves; what a person asked for is not. */
export function failed(error: unknown): Problem {
	const problem = problemOf(error);
	return problem.status === 0 ? new Problem(problem.error, 'Try again when you are connected.') : problem;
}

/** Do it, and say what goes wrong; whether it went well. */
export async function tried(act: () => Promise<unknown>): Promise<boolean> {
	try {
		await act();
		return true;
	} catch (error) {
		toasts.trouble(failed(error));
		return false;
	}
}
