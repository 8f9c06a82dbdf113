/** Short notices at the edge of the page: what was done, and how to undo it. */
export type Toast = {
	id: number;
	text: string;
	trouble: boolean;
	act?: { label: string; does: () => void };
};

const SHOWN_MS = 8_000;
const SHOWN_MAX = 3;

class Toasts {
	list = $state<Toast[]>([]);
	#next = 1;

	/** Say something, and offer one thing to do about it. */
	say(text: string, act?: Toast['act'], trouble = false): void {
		const toast: Toast = { id: this.#next++, text, trouble, ...(act ? { act } : {}) };
		this.list = [...this.list, toast].slice(-SHOWN_MAX);
		setTimeout(() => this.drop(toast.id), SHOWN_MS);
	}

	/** Say what went wrong, with its next step. */
	trouble(problem: { error: string; hint?: string }): void {
		this.say([problem.error, problem.hint].filter(Boolean).join(' '), undefined, true);
	}

	drop(id: number): void {
		this.list = this.list.filter((toast) => toast.id !== id);
	}
}

export const toasts = new Toasts();
