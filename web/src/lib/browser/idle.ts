/** What can wait until the page is there: it comes after the start, when nothing else is to be done. */
const AFTER_MS = 1_500;
const AT_MOST_MS = 3_000;

/** Do something later, when there is time. What fails is tried again when it is needed. */
export function whenIdle(does: () => unknown): void {
	const idle = globalThis.requestIdleCallback ?? ((call: () => void) => setTimeout(call));
	const begin = () => void Promise.resolve(does()).catch(() => undefined);
	setTimeout(() => idle(begin, { timeout: AT_MOST_MS }), AFTER_MS);
}
