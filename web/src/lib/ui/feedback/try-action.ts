/** Runs an action that a person started, and shows an error if it fails. */
import { ApiError, toApiError } from '$lib/api/client';
import { toasts } from './toasts.svelte';

/** Why an action failed. Unlike pages, actions are not retried automatically, and the hint says so. */
export function toActionError(error: unknown): ApiError {
	const failure = toApiError(error);
	return failure.status === 0 ? new ApiError(failure.message, 'Try again when you are connected.') : failure;
}

/** Run an action and show a toast if it fails. Returns whether it succeeded. */
export async function tryAction(action: () => Promise<unknown>): Promise<boolean> {
	try {
		await action();
		return true;
	} catch (error) {
		toasts.error(toActionError(error));
		return false;
	}
}
