/** Defers work until the page has loaded and the browser is idle. */
const DELAY_MS = 1_500;
const TIMEOUT_MS = 3_000;

/** Run something later, when the browser is idle. Failures are ignored: the work is tried again when it is needed. */
export function whenIdle(run: () => unknown): void {
	const onIdle = globalThis.requestIdleCallback ?? ((call: () => void) => setTimeout(call));
	const start = () => void Promise.resolve(run()).catch(() => undefined);
	setTimeout(() => onIdle(start, { timeout: TIMEOUT_MS }), DELAY_MS);
}
