/** Pointer gestures on the timeline: drag to pan or to select a part, pinch or ctrl+wheel to zoom. Positions are shares of its width. */
import type { Attachment } from 'svelte/attachments';

export type GestureHandlers = {
	/** Whether the timeline can be panned; if not, a drag selects a part. */
	canPan: () => boolean;
	pan: (share: number) => void;
	zoom: (factor: number, at: number) => void;
	preview: (one: number, other: number) => void;
	select: (one: number, other: number) => void;
	/** The gesture ended. */
	end: () => void;
};

const DRAG_PX = 8; // less is a click
const WHEEL_END_MS = 200;
const WHEEL_STEP = 0.0025;

/** Attach gestures to an element. */
export function gestures(handlers: GestureHandlers): Attachment<HTMLElement> {
	return (node) => {
		const down = new Map<number, PointerEvent>();
		let drag: { from: number; last: number; pans: boolean } | null = null;
		let pinched = false;
		let wheel: ReturnType<typeof setTimeout> | undefined;
		const share = (x: number) => {
			const box = node.getBoundingClientRect();
			return Math.min(1, Math.max(0, (x - box.left) / box.width));
		};
		const pinchDistance = () => {
			const [one, other] = [...down.values()];
			return one && other ? Math.max(24, Math.abs(one.clientX - other.clientX)) : 0;
		};
		const pinchCentre = () => [...down.values()].reduce((sum, one) => sum + one.clientX, 0) / down.size;

		function onDown(event: PointerEvent) {
			if (event.button === 0) down.set(event.pointerId, event);
		}

		function onMove(event: PointerEvent) {
			const first = down.get(event.pointerId);
			if (!first) return;
			if (down.size > 1) {
				const before = pinchDistance();
				down.set(event.pointerId, event);
				pinched = true;
				handlers.zoom(before / pinchDistance(), share(pinchCentre()));
				return;
			}
			const here = share(event.clientX);
			if (!drag) {
				if (pinched || Math.abs(event.clientX - first.clientX) < DRAG_PX) return;
				const from = share(first.clientX);
				drag = { from, last: from, pans: handlers.canPan() };
				node.setPointerCapture(event.pointerId);
			}
			if (drag.pans) handlers.pan(drag.last - here);
			else handlers.preview(drag.from, here);
			drag.last = here;
		}

		function onUp(event: PointerEvent) {
			if (!down.delete(event.pointerId) || down.size) return;
			if (drag && !drag.pans && event.type === 'pointerup') handlers.select(drag.from, drag.last);
			if (drag || pinched) {
				handlers.end();
				// The click at the end of a drag is not a click.
				node.addEventListener('click', cancelClick, { capture: true, once: true });
				setTimeout(() => node.removeEventListener('click', cancelClick, { capture: true }));
			}
			[drag, pinched] = [null, false];
		}

		function cancelClick(event: Event) {
			event.stopPropagation();
			event.preventDefault();
		}

		function onWheel(event: WheelEvent) {
			const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
			if (!event.ctrlKey && !sideways) return; // the page scrolls
			event.preventDefault();
			if (event.ctrlKey) handlers.zoom(Math.exp(event.deltaY * WHEEL_STEP), share(event.clientX));
			else handlers.pan(event.deltaX / node.clientWidth);
			clearTimeout(wheel);
			wheel = setTimeout(handlers.end, WHEEL_END_MS);
		}

		const controller = new AbortController();
		const { signal } = controller;
		node.addEventListener('pointerdown', onDown, { signal });
		node.addEventListener('pointermove', onMove, { signal });
		node.addEventListener('pointerup', onUp, { signal });
		node.addEventListener('pointercancel', onUp, { signal });
		node.addEventListener('wheel', onWheel, { signal, passive: false });
		return () => {
			clearTimeout(wheel);
			controller.abort();
		};
	};
}
