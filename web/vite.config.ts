import { sveltekit } from '@sveltejs/kit/vite';
import tailwindcss from '@tailwindcss/vite';
import { loadEnv } from 'vite';
import { defineConfig } from 'vitest/config';

const { EVERLOOP_ADDRESS: engine = 'http://127.0.0.1:7777' } = loadEnv('', '.', 'EVERLOOP_');

export default defineConfig({
	plugins: [tailwindcss(), sveltekit()],
	// Nothing is inlined as a data: address; the page's policy refuses fonts and styles from there.
	build: { assetsInlineLimit: 0 },
	server: { proxy: { '/api': engine, '/openapi.json': engine } },
	test: { include: ['src/**/*.test.ts'], environment: 'node' }
});
