/** Whether there can be room for the margin: where there is none, nothing is read for it. `thread.css` says the same. */
import { MediaQuery } from 'svelte/reactivity';

export const roomy = new MediaQuery('min-width: 62rem');
