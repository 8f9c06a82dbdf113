import { sveltekit } from '@sveltejs/kit/vite';
import tailwindcss from '@tailwindcss/vite';
import { loadEnv, type Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

const { EVERLOOP_ADDRESS: engine = 'http://127.0.0.1:7777' } = loadEnv('', '.', 'EVERLOOP_');

type Modules = { getModuleInfo: (id: string) => { importedIds: readonly string[] } | null };

const FIRST = ['src/routes/+layout.svelte', 'src/routes/+page.svelte', 'node_modules/@sveltejs/kit/src/runtime/client/entry.js'];
const first = new Set<string>();

/** What the first page needs is one file: whatever its layout, the thread and the router import, all the way down. */
function firstFile(id: string, modules: Modules): string | null {
	if (!first.size) for (const entry of FIRST) collect(new URL(entry, import.meta.url).pathname, modules);
	return first.has(id) ? 'first' : null;
}

function collect(id: string, modules: Modules): void {
	if (first.has(id)) return;
	first.add(id);
	for (const imported of modules.getModuleInfo(id)?.importedIds ?? []) collect(imported, modules);
}

/** For the browser's build alone: SvelteKit makes another one before it, for itself. */
const oneFirstFile: Plugin = {
	name: 'one-first-file',
	enforce: 'post',
	config: ({ build }) =>
		build?.ssr ? {} : { build: { rollupOptions: { output: { codeSplitting: { groups: [{ name: firstFile }] } } } } }
};

export default defineConfig({
	plugins: [tailwindcss(), sveltekit(), oneFirstFile],
	// Nothing is inlined as a data: address; the page's policy refuses fonts and styles from there.
	build: { assetsInlineLimit: 0 },
	worker: { format: 'es' },
	// The engine refuses what another origin asks: it must see the name that the browser sees.
	server: { proxy: Object.fromEntries(['/api', '/openapi.json'].map((path) => [path, { target: engine, changeOrigin: false }])) },
	test: { include: ['src/**/*.test.ts'], environment: 'node' }
});
