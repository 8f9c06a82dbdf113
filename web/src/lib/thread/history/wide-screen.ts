/** Whether there can be room for sources beside the text; without it, they are not loaded. Keep in sync with `thread.css`. */
import { MediaQuery } from 'svelte/reactivity';

export const wideScreen = new MediaQuery('min-width: 62rem');
