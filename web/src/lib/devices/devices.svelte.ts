/** The devices that are let in. */
import { api, told, type Shape } from '$lib/api/client';
import { rereading } from '$lib/live/reload-on';
import { Asked } from '$lib/live/query.svelte';
import { session } from '$lib/session/session.svelte';
import { tried } from '$lib/ui/feedback/try-action';
import { toasts } from '$lib/ui';

export type Device = Shape<'DeviceOut'>;

export class Devices {
	known = new Asked<Device[]>();

	/** Read them, and again when one comes or goes; what is returned ends it. */
	follow(): () => void {
		this.read();
		return rereading(/^access\.device_/, () => this.read());
	}

	read(): void {
		void this.known.ask(() => told(api.GET('/api/devices')));
	}

	async rename(device: Device, name: string): Promise<boolean> {
		return this.#does(async () => {
			await told(api.PUT('/api/devices/{device_id}', { params: { path: device }, body: { name } }));
			toasts.say('Renamed.', { label: 'Undo', does: () => void this.rename(device, device.name) });
		});
	}

	/** Let it in no more. This one signs out instead. */
	async revoke(device: Device): Promise<boolean> {
		if (device.this) {
			await session.leave();
			return true;
		}
		return this.#does(async () => {
			await told(api.DELETE('/api/devices/{device_id}', { params: { path: device } }));
			toasts.say(device.host ? `The token of ${device.name} opens nothing any more.` : `${device.name} is signed out.`);
		});
	}

	async #does(act: () => Promise<void>): Promise<boolean> {
		const done = await tried(act);
		if (done) this.read();
		return done;
	}
}
