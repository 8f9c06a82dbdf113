/** Comments on lines that were not sent yet, kept in this browser until they are. */
import { readLocal, writeLocal } from '$lib/browser/local-storage';
import { writeComments, type LineComment } from './patch';

export class DiffComments {
	list = $state<LineComment[]>([]);
	#name: string;

	constructor(taskId: string) {
		this.#name = `draft.diff.${taskId}`;
		try {
			this.list = JSON.parse(readLocal(this.#name) ?? '[]') as LineComment[];
		} catch {
			this.list = [];
		}
	}

	at(path: string, line: number, side: 'old' | 'new'): LineComment | undefined {
		return this.list.find((one) => one.path === path && one.line === line && one.side === side);
	}

	/** Set the comment on a line; an empty text removes it. */
	set(comment: LineComment): void {
		const others = this.list.filter((one) => one.path !== comment.path || one.line !== comment.line || one.side !== comment.side);
		this.#keep(comment.text.trim() ? [...others, comment] : others);
	}

	message(general: string): string {
		return writeComments(this.list, general);
	}

	clear(): void {
		this.#keep([]);
	}

	#keep(list: LineComment[]): void {
		this.list = list;
		writeLocal(this.#name, list.length ? JSON.stringify(list) : null);
	}
}
