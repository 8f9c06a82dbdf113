import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import adapter from '@sveltejs/adapter-static';
import { vitePreprocess } from '@sveltejs/vite-plugin-svelte';

const PAGE = 'build/index.html';
const MANIFEST = '.svelte-kit/output/client/.vite/manifest.json';
const NODES = '_app/immutable/nodes';
const ASSETS = '_app/immutable/assets';

// Single-page app: the server returns index.html for every path that is not a file.
const pages = adapter({ fallback: 'index.html' });

/** The file of a chunk that vite.config.ts named. */
function chunkFile(name) {
	const manifest = JSON.parse(readFileSync(MANIFEST, 'utf8'));
	return Object.values(manifest).find((chunk) => chunk.name === name).file;
}

/** Preload what every start needs, so that files load in parallel instead of one after the other. */
function preloadFirst() {
	const nodes = readdirSync(`build/${NODES}`).filter((file) => /^[12]\..*\.js$/.test(file));
	const fonts = readdirSync(`build/${ASSETS}`).filter((file) => /^(inter|source-serif-4)-latin-wght-normal\..*\.woff2$/.test(file));
	const links = [
		...[chunkFile('messages'), ...nodes.map((file) => `${NODES}/${file}`)].map((file) => `<link href="/${file}" rel="modulepreload">`),
		...fonts.map((file) => `<link href="/${ASSETS}/${file}" rel="preload" as="font" type="font/woff2" crossorigin>`)
	];
	writeFileSync(PAGE, readFileSync(PAGE, 'utf8').replace('</head>', `\t${links.join('\n\t\t')}\n\t</head>`));
}

/** Nearly all of the first chunk runs at the start. With this hint, the browser compiles it while it downloads, off the main thread. */
function compileAhead() {
	const file = `build/${chunkFile('first')}`;
	writeFileSync(file, `//# allFunctionsCalledOnLoad\n${readFileSync(file, 'utf8')}`);
}

/** @type {import('@sveltejs/kit').Config} */
export default {
	preprocess: vitePreprocess(),
	kit: {
		adapter: {
			...pages,
			async adapt(builder) {
				await pages.adapt(builder);
				preloadFirst();
				compileAhead();
				await builder.compress('build');
			}
		},
		serviceWorker: { register: false }, // lib/shell/offline.ts does, once the page is there
		// An open page notices a newer version within a minute, and offers to load it.
		version: { pollInterval: 60_000 }
	}
};
