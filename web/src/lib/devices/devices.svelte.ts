/** Devices and programs that are signed in. */
import { api, unwrap, type Schema } from '$lib/api/client';
import { Query } from '$lib/live/query.svelte';
import { reloadOn } from '$lib/live/reload-on';
import { session } from '$lib/session/session.svelte';
import { toasts } from '$lib/ui';
import { tryAction } from '$lib/ui/feedback/try-action';

export type Device = Schema<'DeviceOut'>;

export class Devices {
	query = new Query<Device[]>();

	/** Load them, and reload when one is added or removed. Returns a function that unsubscribes. */
	follow(): () => void {
		this.load();
		return reloadOn(/^access\.device_/, () => this.load());
	}

	load(): void {
		void this.query.run(() => unwrap(api.GET('/api/devices')));
	}

	async rename(device: Device, name: string): Promise<boolean> {
		return this.#change(async () => {
			await unwrap(api.PUT('/api/devices/{device_id}', { params: { path: device }, body: { name } }));
			toasts.show('Renamed.', { label: 'Undo', run: () => void this.rename(device, device.name) });
		});
	}

	/** Remove a device; this device signs out instead. */
	async remove(device: Device): Promise<boolean> {
		if (device.this) {
			await session.signOut();
			return true;
		}
		return this.#change(async () => {
			await unwrap(api.DELETE('/api/devices/{device_id}', { params: { path: device } }));
			toasts.show(device.host ? `Removed the token of ${device.name}.` : `${device.name} was removed and signed out.`);
		});
	}

	async #change(action: () => Promise<void>): Promise<boolean> {
		const done = await tryAction(action);
		if (done) this.load();
		return done;
	}
}
