/** How the answers of a thread are wanted on this device: model, temperature and length. */
import { readLocal, writeLocal } from '$lib/browser/local-storage';
import type { Schema } from '$lib/api/client';

export type Options = Schema<'Options'>;

/** Lengths to choose from; 0 is the limit of the settings. */
export const LENGTHS = [
	{ tokens: 0, label: 'As configured' },
	{ tokens: 256, label: 'Short' },
	{ tokens: 1024, label: 'Medium' },
	{ tokens: 4096, label: 'Long' }
];

export class AnswerOptions {
	model = $state('');
	temperature = $state<number | null>(null);
	tokensMax = $state(0);
	#key: string;

	constructor(threadId: string) {
		this.#key = `options.${threadId}`;
		try {
			const saved = JSON.parse(readLocal(this.#key) ?? '{}') as Partial<Options>;
			this.model = saved.model ?? '';
			this.temperature = saved.temperature ?? null;
			this.tokensMax = saved.tokens_max ?? 0;
		} catch {
			// What another version saved is not used.
		}
	}

	/** The options as the server knows them. */
	get values(): Options {
		return { model: this.model, temperature: this.temperature, tokens_max: this.tokensMax };
	}

	/** Whether anything differs from the settings. */
	get changed(): boolean {
		return this.temperature !== null || this.tokensMax > 0;
	}

	save(): void {
		writeLocal(this.#key, JSON.stringify(this.values));
	}
}
