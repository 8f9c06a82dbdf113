/** What going back or taking back would change, in plain words. */
import type { Shape } from '$lib/api/client';

type Impact = Shape<'ImpactOut'>;

const NAMES: [RegExp, string, string][] = [
	[/^thread\.message_sent$|^thread\.message_imported$/, 'message', 'messages'],
	[/^thread\.(answer_given|turn_stopped|turn_failed|turn_left_uncertain)$/, 'answer', 'answers'],
	[/^memory\.(remembered|item_remembered)$/, 'memory', 'memories'],
	[/^thread\.window_summarised$/, 'summary', 'summaries'],
	[/^lessons\.lesson_/, 'lesson', 'lessons'],
	[/^thread\.(topic|decision|intent)_/, 'note', 'notes']
];
const NUMBERS = ['No', 'One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine', 'Ten'];

/** Each sort of thing that would be hidden, with what was said first. */
export function hiddenInWords(impact: Impact): string[] {
	return NAMES.map(([kind, one, many]) => {
		const count = impact.hides.filter((touched) => kind.test(touched.kind)).length;
		return { count, words: `${inWords(count)} ${count === 1 ? one : many}` };
	})
		.filter(({ count }) => count > 0)
		.map(({ words }) => words);
}

/** A number as one would write it in a sentence. */
export function inWords(count: number): string {
	return NUMBERS[count] ?? count.toLocaleString();
}

/** The sentence above the buttons. */
export function sentence(impact: Impact, itself: 'back' | 'away'): string {
	const parts = hiddenInWords(impact);
	if (!parts.length) return 'Nothing else changes.';
	const list = parts.map((part, index) => (index ? part.toLowerCase() : part));
	const joined = list.length > 1 ? `${list.slice(0, -1).join(', ')} and ${list.at(-1)}` : list[0];
	const one = parts.length === 1 && parts[0]?.startsWith('One ');
	return itself === 'back'
		? `${joined} that came later will no longer count here. Nothing is deleted: all of it stays on its branch.`
		: `${joined} ${one ? 'goes' : 'go'} with it, here and wherever it was remembered. You can undo this.`;
}
