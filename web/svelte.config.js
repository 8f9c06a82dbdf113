import adapter from '@sveltejs/adapter-static';
import { vitePreprocess } from '@sveltejs/vite-plugin-svelte';

/** @type {import('@sveltejs/kit').Config} */
export default {
	preprocess: vitePreprocess(),
	kit: {
		// One page for all addresses: the server gives index.html for what is no file.
		adapter: adapter({ fallback: 'index.html', precompress: true }),
		serviceWorker: { register: false }, // lib/shell/offline.ts does, once the page is there
		// An open page notices a newer version within a minute, and offers to load it.
		version: { pollInterval: 60_000 }
	}
};
