/** A view of a world that is loaded from the API and reloaded when the world changes. */
import { Query } from '$lib/live/query.svelte';
import { session } from '$lib/session/session.svelte';

const DEBOUNCE_MS = 250;

export class WorldQuery<Data> extends Query<Data> {
	constructor(
		readonly worldId: string,
		readonly request: () => Promise<Data>
	) {
		super();
	}

	/** Load it, and reload when something happens in the world. Returns a function that stops. */
	follow(): () => void {
		let timer: ReturnType<typeof setTimeout> | undefined;
		const load = () => void this.run(this.request);
		load();
		const unsubscribe = session.events.listen({
			reset: load,
			fact: (fact) => {
				if (!fact.stream.startsWith(`world:${this.worldId}`) && !fact.kind.startsWith('log.')) return;
				clearTimeout(timer);
				timer = setTimeout(load, DEBOUNCE_MS);
			}
		});
		return () => {
			clearTimeout(timer);
			unsubscribe();
		};
	}
}
