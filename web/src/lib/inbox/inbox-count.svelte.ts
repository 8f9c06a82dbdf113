/** How many requests were not seen yet: the badge of the inbox in the navigation and on the app's icon. */
import { api } from '$lib/api/client';
import { reloadOn } from '$lib/live/reload-on';

type Badging = { setAppBadge?: (count: number) => Promise<void>; clearAppBadge?: () => Promise<void> };

class InboxCount {
	unread = $state(0);

	/** Load it, and reload when the inbox changes. Returns a function that unsubscribes. */
	follow(): () => void {
		void this.load();
		return reloadOn(/^inbox\./, () => void this.load());
	}

	async load(): Promise<void> {
		const found = await api.GET('/api/inbox/count').catch(() => undefined);
		if (found?.data) this.#set(found.data.unread);
	}

	#set(unread: number): void {
		this.unread = unread;
		const badge = navigator as Badging;
		void (unread ? badge.setAppBadge?.(unread) : badge.clearAppBadge?.())?.catch(() => undefined);
	}
}

export const inboxCount = new InboxCount();
