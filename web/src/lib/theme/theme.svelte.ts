/** Theme and light or dark mode, kept in this browser; `app.html` applies them before the first paint. */
import { MediaQuery } from 'svelte/reactivity';
import { writeLocal } from '$lib/browser/local-storage';

export const THEMES = [
	{ value: 'paper', label: 'Paper' },
	{ value: 'slate', label: 'Slate' },
	{ value: 'moss', label: 'Moss' },
	{ value: 'dusk', label: 'Dusk' },
	{ value: 'contrast', label: 'High contrast' }
];
export const MODES = [
	{ value: 'system', label: 'System' },
	{ value: 'light', label: 'Light' },
	{ value: 'dark', label: 'Dark' }
];

const systemDark = new MediaQuery('prefers-color-scheme: dark');

class Theme {
	name = $state(document.documentElement.dataset.theme ?? 'paper');
	mode = $state(document.documentElement.dataset.mode ?? 'system');

	setTheme(name: string): void {
		this.name = name;
		this.#save('theme', name);
	}

	setMode(mode: string): void {
		this.mode = mode;
		this.#save('mode', mode);
	}

	/** Whether it is dark now. */
	get dark(): boolean {
		if (this.mode !== 'system') return this.mode === 'dark';
		return systemDark.current;
	}

	/** A name for the colours in use now; it changes whenever they do. */
	get look(): string {
		return `${this.name}-${this.dark ? 'dark' : 'light'}`;
	}

	#save(attribute: 'theme' | 'mode', value: string): void {
		document.documentElement.dataset[attribute] = value;
		writeLocal(attribute, value);
	}
}

export const theme = new Theme();
