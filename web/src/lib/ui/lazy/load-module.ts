import { problemOf } from '$lib/api/client';
import { toasts } from '../feedback/toasts.svelte';

/** A part of the script that comes when it is needed; what keeps it away is said, and it can be asked for again. */
export async function fetched<Part>(from: () => Promise<{ default: Part }>): Promise<Part | undefined> {
	try {
		return (await from()).default;
	} catch (error) {
		toasts.trouble(problemOf(error));
		return undefined;
	}
}
