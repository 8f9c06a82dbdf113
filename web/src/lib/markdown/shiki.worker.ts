/** Web worker for syntax highlighting, so that it never blocks the page. */
import { highlight } from './shiki';

type HighlightRequest = { id: number; code: string; language: string };

self.addEventListener('message', async (event: MessageEvent<HighlightRequest>) => {
	const { id, code, language } = event.data;
	self.postMessage({ id, markup: await highlight(code, language).catch(() => null) });
});
