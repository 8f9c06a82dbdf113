import { sveltekit } from '@sveltejs/kit/vite';
import tailwindcss from '@tailwindcss/vite';
import { loadEnv, type Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

const { EVERLOOP_ADDRESS: engine = 'http://127.0.0.1:7777' } = loadEnv('', '.', 'EVERLOOP_');

type Modules = { getModuleInfo: (id: string) => { importedIds: readonly string[] } | null };

/** What is needed together is one file: the layout, the thread and the router, and then what shows messages; each with all that it imports. */
const FILES: Record<string, string[]> = {
	first: ['src/routes/+layout.svelte', 'src/routes/+page.svelte', 'node_modules/@sveltejs/kit/src/runtime/client/entry.js'],
	history: ['src/lib/thread/history/MessageList.svelte']
};
const fileOf = new Map<string, string>();

function groupOf(id: string, modules: Modules): string | null {
	if (!fileOf.size) {
		for (const [file, entries] of Object.entries(FILES)) {
			for (const entry of entries) collect(new URL(entry, import.meta.url).pathname, file, modules);
		}
	}
	return fileOf.get(id) ?? null;
}

function collect(id: string, file: string, modules: Modules): void {
	if (fileOf.has(id)) return;
	fileOf.set(id, file);
	for (const imported of modules.getModuleInfo(id)?.importedIds ?? []) collect(imported, file, modules);
}

/** For the browser's build alone: SvelteKit makes another one before it, for itself. */
const fewFiles: Plugin = {
	name: 'few-files',
	enforce: 'post',
	config: ({ build }) =>
		build?.ssr ? {} : { build: { rollupOptions: { output: { codeSplitting: { groups: [{ name: groupOf }] } } } } }
};

/** Icons as the markup they are. Lucide's own components put them together in the browser, node by node: slow at the start. */
const plainIcons: Plugin = {
	name: 'plain-icons',
	enforce: 'pre',
	transform(code, id) {
		if (!/@lucide\/svelte\/dist\/icons\/[\w-]+\.svelte$/.test(id)) return;
		const data = /const iconData = (\{.*\});/.exec(code)?.[1];
		if (!data) throw new Error(`Lucide made ${id} in another way: plain-icons must learn it`);
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
	plugins: [plainIcons, tailwindcss(), sveltekit(), fewFiles],
	// Nothing is inlined as a data: address; the page's policy refuses fonts and styles from there.
	build: { assetsInlineLimit: 0 },
	worker: { format: 'es' },
	// The engine refuses what another origin asks: it must see the name that the browser sees.
	server: { proxy: Object.fromEntries(['/api', '/openapi.json'].map((path) => [path, { target: engine, changeOrigin: false }])) },
	test: { include: ['src/**/*.test.ts'], environment: 'node' }
});
