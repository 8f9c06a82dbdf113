/** Toasts: short messages that confirm an action and offer to undo it. */
import { SvelteSet } from 'svelte/reactivity';

export type ToastAction = { label: string; run: () => void };
export type Toast = { id: number; text: string; isError: boolean; action?: ToastAction };

const SHOWN_MS = 8_000;
const SHOWN_MAX = 3;

class Toasts {
	list = $state<Toast[]>([]);
	/** The bars on top of the page, with controls that no toast may cover. */
	readonly bars = new SvelteSet<Element>();
	#nextId = 1;

	/** Show a message, and offer one action. */
	show(text: string, action?: ToastAction, isError = false): void {
		const toast: Toast = { id: this.#nextId++, text, isError, ...(action ? { action } : {}) };
		this.list = [...this.list, toast].slice(-SHOWN_MAX);
		setTimeout(() => this.dismiss(toast.id), SHOWN_MS);
	}

	/** Show what went wrong and what to do next. */
	error({ message, hint }: { message: string; hint?: string }): void {
		this.show([message, hint].filter(Boolean).join(' '), undefined, true);
	}

	/** Attach it to a bar on top of a page: toasts appear below the bar. */
	readonly below = (bar: Element): (() => void) => {
		this.bars.add(bar);
		return () => void this.bars.delete(bar);
	};

	dismiss(id: number): void {
		this.list = this.list.filter((toast) => toast.id !== id);
	}
}

export const toasts = new Toasts();
