/** Describes in plain words what rewinding or deleting would change. */
import type { Schema } from '$lib/api/client';

type Impact = Schema<'ImpactOut'>;

const NAMES: [RegExp, string, string][] = [
	[/^thread\.message_sent$|^thread\.message_imported$/, 'message', 'messages'],
	[/^thread\.(answer_given|turn_stopped|turn_failed|turn_left_uncertain)$/, 'answer', 'answers'],
	[/^memory\.(remembered|item_remembered)$/, 'memory', 'memories'],
	[/^thread\.window_summarised$/, 'summary', 'summaries'],
	[/^lessons\.lesson_/, 'lesson', 'lessons'],
	[/^thread\.(topic|decision|intent)_/, 'note', 'notes']
];
const NUMBERS = ['No', 'One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine', 'Ten'];

/** How many things of each kind would be hidden, messages first: `Two messages`, `One answer`. */
export function describeHidden(impact: Impact): string[] {
	return NAMES.map(([kind, one, many]) => {
		const count = impact.hides.filter((hidden) => kind.test(hidden.kind)).length;
		return { count, text: `${numberWord(count)} ${count === 1 ? one : many}` };
	})
		.filter(({ count }) => count > 0)
		.map(({ text }) => text);
}

/** A number as it is written in a sentence. */
export function numberWord(count: number): string {
	return NUMBERS[count] ?? count.toLocaleString();
}

/** The text of the confirmation dialog. */
export function describeImpact(impact: Impact, action: 'rewind' | 'retract'): string {
	const parts = describeHidden(impact);
	if (!parts.length) return 'Nothing else changes.';
	const list = parts.map((part, index) => (index ? part.toLowerCase() : part));
	const joined = list.length > 1 ? `${list.slice(0, -1).join(', ')} and ${list.at(-1)}` : list[0];
	return action === 'rewind'
		? `${joined} that came later will be removed from this conversation. Nothing is deleted: you can find everything on the previous branch.`
		: `${joined} will be deleted with it, here and in memory. You can undo this.`;
}
