/** How the interface looks on this device. Kept on the device; `app.html` applies it before the first paint. */
import { keep } from '$lib/browser/local-storage';

export const THEMES = [
	{ value: 'paper', label: 'Paper' },
	{ value: 'slate', label: 'Slate' },
	{ value: 'moss', label: 'Moss' },
	{ value: 'dusk', label: 'Dusk' },
	{ value: 'contrast', label: 'Contrast' }
];
export const MODES = [
	{ value: 'system', label: 'As the device' },
	{ value: 'light', label: 'Light' },
	{ value: 'dark', label: 'Dark' }
];

class Theme {
	name = $state(document.documentElement.dataset.theme ?? 'paper');
	mode = $state(document.documentElement.dataset.mode ?? 'system');

	choose(name: string): void {
		this.name = name;
		this.#keep('theme', name);
	}

	light(mode: string): void {
		this.mode = mode;
		this.#keep('mode', mode);
	}

	/** Whether it is dark just now. */
	get dark(): boolean {
		if (this.mode !== 'system') return this.mode === 'dark';
		return matchMedia('(prefers-color-scheme: dark)').matches;
	}

	#keep(what: 'theme' | 'mode', value: string): void {
		document.documentElement.dataset[what] = value;
		keep(what, value);
	}
}

export const theme = new Theme();
