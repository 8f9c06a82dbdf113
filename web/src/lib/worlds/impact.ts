/** Describes in plain words what rewinding a world or deleting a line would take along. */
import type { Schema } from '$lib/api/client';
import { numberWord } from '$lib/thread/actions/impact';

type Impact = Schema<'ImpactOut'>;

const NAMES: [RegExp, string, string][] = [
	[/^worlds\.(message_written|version_rendered)$/, 'line', 'lines'],
	[/^worlds\.scene_opened$/, 'scene', 'scenes'],
	[/^worlds\.(scene_summarised|offstage_remembered|digest_recorded)$|^memory\./, 'memory', 'memories'],
	[/^worlds\.(edge_|group_)/, 'change of feelings', 'changes of feelings'],
	[/^worlds\.(activity|condition)_changed$/, 'change of state', 'changes of state'],
	[/^worlds\.(event_|prop_|belonging_|plot_)/, 'step of the plot', 'steps of the plot'],
	[/^worlds\.time_/, 'time skip', 'time skips']
];

/** A sentence about what would go. */
export function describeWorldImpact(impact: Impact, action: 'rewind' | 'retract'): string {
	const parts = NAMES.map(([kind, one, many]) => {
		const count = impact.hides.filter((hidden) => kind.test(hidden.kind)).length;
		return { count, text: `${numberWord(count).toLowerCase()} ${count === 1 ? one : many}` };
	}).filter(({ count }) => count > 0);
	if (!parts.length) return 'Nothing else changes.';
	const texts = parts.map(({ text }) => text);
	const list = texts.length > 1 ? `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}` : (texts[0] ?? '');
	const sentence = list.charAt(0).toUpperCase() + list.slice(1);
	return action === 'rewind'
		? `${sentence} will no longer count here. The branch that you leave keeps all of it.`
		: `${sentence} will be gone for everyone who knew. You can undo this.`;
}
