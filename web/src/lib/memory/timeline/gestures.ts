/** Hands on a picture of time: drag to move or to draw over a part, pinch or turn the wheel to zoom. Shares are of its width. */
import type { Attachment } from 'svelte/attachments';

export type Hands = {
	/** Whether there is room to move; where there is none, a drag draws over a part. */
	movable: () => boolean;
	move: (share: number) => void;
	zoom: (factor: number, at: number) => void;
	draw: (one: number, other: number) => void;
	select: (one: number, other: number) => void;
	/** The hands rest. */
	rest: () => void;
};

const DRAG_PX = 8; // less is a press
const WHEEL_REST_MS = 200;
const WHEEL_STEP = 0.0025;

export function gestures(hands: Hands): Attachment<HTMLElement> {
	return (node) => {
		const down = new Map<number, PointerEvent>();
		let drag: { from: number; last: number; moves: boolean } | null = null;
		let pinched = false;
		let wheel: ReturnType<typeof setTimeout> | undefined;
		const share = (x: number) => {
			const box = node.getBoundingClientRect();
			return Math.min(1, Math.max(0, (x - box.left) / box.width));
		};
		const apart = () => {
			const [one, other] = [...down.values()];
			return one && other ? Math.max(24, Math.abs(one.clientX - other.clientX)) : 0;
		};
		const middle = () => [...down.values()].reduce((sum, one) => sum + one.clientX, 0) / down.size;

		function begin(event: PointerEvent) {
			if (event.button === 0) down.set(event.pointerId, event);
		}

		function go(event: PointerEvent) {
			const first = down.get(event.pointerId);
			if (!first) return;
			if (down.size > 1) {
				const before = apart();
				down.set(event.pointerId, event);
				pinched = true;
				hands.zoom(before / apart(), share(middle()));
				return;
			}
			const here = share(event.clientX);
			if (!drag) {
				if (pinched || Math.abs(event.clientX - first.clientX) < DRAG_PX) return;
				const from = share(first.clientX);
				drag = { from, last: from, moves: hands.movable() };
				node.setPointerCapture(event.pointerId);
			}
			if (drag.moves) hands.move(drag.last - here);
			else hands.draw(drag.from, here);
			drag.last = here;
		}

		function end(event: PointerEvent) {
			if (!down.delete(event.pointerId) || down.size) return;
			if (drag && !drag.moves && event.type === 'pointerup') hands.select(drag.from, drag.last);
			if (drag || pinched) {
				hands.rest();
				// The press that a drag ends with is none.
				node.addEventListener('click', swallow, { capture: true, once: true });
				setTimeout(() => node.removeEventListener('click', swallow, { capture: true }));
			}
			[drag, pinched] = [null, false];
		}

		function swallow(event: Event) {
			event.stopPropagation();
			event.preventDefault();
		}

		function turn(event: WheelEvent) {
			const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
			if (!event.ctrlKey && !sideways) return; // the page scrolls
			event.preventDefault();
			if (event.ctrlKey) hands.zoom(Math.exp(event.deltaY * WHEEL_STEP), share(event.clientX));
			else hands.move(event.deltaX / node.clientWidth);
			clearTimeout(wheel);
			wheel = setTimeout(hands.rest, WHEEL_REST_MS);
		}

		const ends = new AbortController();
		const { signal } = ends;
		node.addEventListener('pointerdown', begin, { signal });
		node.addEventListener('pointermove', go, { signal });
		node.addEventListener('pointerup', end, { signal });
		node.addEventListener('pointercancel', end, { signal });
		node.addEventListener('wheel', turn, { signal, passive: false });
		return () => {
			clearTimeout(wheel);
			ends.abort();
		};
	};
}
