import { sveltekit } from '@sveltejs/kit/vite';
import tailwindcss from '@tailwindcss/vite';
import { loadEnv, type Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

const { EVERLOOP_ADDRESS: engine = 'http://127.0.0.1:7777' } = loadEnv('', '.', 'EVERLOOP_');

type Modules = { getModuleInfo: (id: string) => { importedIds: readonly string[] } | null };

/** Chunks: the layout, the thread page and the router in one file, and the message list in another; each with all that it imports. */
const CHUNKS: Record<string, string[]> = {
	first: ['src/routes/+layout.svelte', 'src/routes/+page.svelte', 'node_modules/@sveltejs/kit/src/runtime/client/entry.js'],
	messages: ['src/lib/thread/history/MessageList.svelte']
};
const chunkOf = new Map<string, string>();

function chunkName(id: string, modules: Modules): string | null {
	if (!chunkOf.size) {
		for (const [chunk, entries] of Object.entries(CHUNKS)) {
			for (const entry of entries) collect(new URL(entry, import.meta.url).pathname, chunk, modules);
		}
	}
	return chunkOf.get(id) ?? null;
}

function collect(id: string, chunk: string, modules: Modules): void {
	if (chunkOf.has(id)) return;
	chunkOf.set(id, chunk);
	for (const imported of modules.getModuleInfo(id)?.importedIds ?? []) collect(imported, chunk, modules);
}

/** Only for the browser build, not for SvelteKit's own build before it. */
const fewChunks: Plugin = {
	name: 'few-chunks',
	enforce: 'post',
	config: ({ build }) =>
		build?.ssr ? {} : { build: { rollupOptions: { output: { codeSplitting: { groups: [{ name: chunkName }] } } } } }
};

/** Compiles icons to static SVG. Lucide's own components build them in the browser, node by node, which is slow at the start. */
const plainIcons: Plugin = {
	name: 'plain-icons',
	enforce: 'pre',
	transform(code, id) {
		if (!/@lucide\/svelte\/dist\/icons\/[\w-]+\.svelte$/.test(id)) return;
		const data = /const iconData = (\{.*\});/.exec(code)?.[1];
		if (!data) throw new Error(`Unexpected format of the icon ${id}: update the plain-icons plugin`);
		const { node } = JSON.parse(data) as { node: [string, Record<string, string>][] };
		return `<script>let { size = 24, strokeWidth = 2, class: extra, 'aria-label': label } = $props();</script>
			<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-linecap="round"
				stroke-linejoin="round" width={size} height={size} stroke-width={strokeWidth} class={extra} aria-label={label}
				aria-hidden={label ? undefined : 'true'}>${node.map(tagOf).join('')}</svg>`;
	}
};

function tagOf([name, given]: [string, Record<string, string>]): string {
	const attributes = Object.entries(given).map(([key, value]) => `${key}="${value}"`);
	return `<${name} ${attributes.join(' ')} />`;
}

export default defineConfig({
	plugins: [plainIcons, tailwindcss(), sveltekit(), fewChunks],
	// No data: URLs: the page's Content Security Policy rejects fonts and styles from there.
	build: { assetsInlineLimit: 0 },
	worker: { format: 'es' },
	// The server rejects requests from other origins, so it must see the browser's host name.
	server: { proxy: Object.fromEntries(['/api', '/openapi.json'].map((path) => [path, { target: engine, changeOrigin: false }])) },
	test: { include: ['src/**/*.test.ts'], environment: 'node' }
});
