import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import adapter from '@sveltejs/adapter-static';
import { vitePreprocess } from '@sveltejs/vite-plugin-svelte';

const PAGE = 'build/index.html';
const NODES = '_app/immutable/nodes';

// One page for all addresses: the server gives index.html for what is no file.
const pages = adapter({ fallback: 'index.html' });

/** The page names what every start needs: the page for errors and the thread come with the rest, not one after the other. */
function preloadFirstNodes() {
	const first = readdirSync(`build/${NODES}`).filter((file) => /^[12]\..*\.js$/.test(file));
	const links = first.map((file) => `<link href="/${NODES}/${file}" rel="modulepreload">`).join('\n\t\t');
	writeFileSync(PAGE, readFileSync(PAGE, 'utf8').replace('</head>', `\t${links}\n\t</head>`));
}

/** @type {import('@sveltejs/kit').Config} */
export default {
	preprocess: vitePreprocess(),
	kit: {
		adapter: {
			...pages,
			async adapt(builder) {
				await pages.adapt(builder);
				preloadFirstNodes();
				await builder.compress('build');
			}
		},
		serviceWorker: { register: false }, // lib/shell/offline.ts does, once the page is there
		// An open page notices a newer version within a minute, and offers to load it.
		version: { pollInterval: 60_000 }
	}
};
