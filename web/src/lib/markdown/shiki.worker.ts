/** Colours are found beside the page, so that finding them never makes it wait. */
import { coloured } from './shiki';

type Asked = { id: number; code: string; language: string };

self.addEventListener('message', async (event: MessageEvent<Asked>) => {
	const { id, code, language } = event.data;
	self.postMessage({ id, markup: await coloured(code, language).catch(() => null) });
});
