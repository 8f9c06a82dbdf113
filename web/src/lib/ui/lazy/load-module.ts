import { toApiError } from '$lib/api/client';
import { toasts } from '../feedback/toasts.svelte';

/** Load a part of the script when it is needed. If that fails, show why; it can be loaded again later. */
export async function loadModule<Module>(load: () => Promise<{ default: Module }>): Promise<Module | undefined> {
	try {
		return (await load()).default;
	} catch (error) {
		toasts.error(toApiError(error));
		return undefined;
	}
}
