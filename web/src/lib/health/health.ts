/** What the page Health shows: problems first, each with the page where it is dealt with. */
import type { Schema } from '$lib/api/client';
import { routes } from '$lib/routes';

export type Finding = Schema<'FindingOut'>;
export type Queue = Schema<'QueueOut'>;

const PAGES: Record<string, { label: string; href: string }> = {
	jobs: { label: 'Open imports', href: routes.settings('import-export') },
	'model errors': { label: 'Open model settings', href: routes.settings('models') },
	background: { label: 'See all tasks', href: '#tasks' }
};
const QUEUE_LABELS: Record<string, string> = {
	answers: 'Answers',
	workers: 'Workers',
	jobs: 'Imports',
	reactions: 'Reactions to new facts',
	embedding: 'Passages to index',
	inbox: 'Requests in the inbox',
	reviews: 'Tasks to start or review'
};

export const isProblem = (finding: Finding): boolean => finding.verdict === 'attention' || finding.verdict === 'broken';

/** What needs somebody, the worst first. */
export function problemsOf(findings: Finding[]): Finding[] {
	return findings.filter(isProblem).sort((one, other) => Number(other.verdict === 'broken') - Number(one.verdict === 'broken'));
}

/** The page where a problem is dealt with, if there is one. */
export const pageOf = (finding: Finding) => PAGES[finding.topic];

export const queueLabel = (queue: Queue): string => QUEUE_LABELS[queue.name] ?? queue.name;

/** Whether a next step is a command for a terminal. */
export const isCommand = (step: string): boolean => /^(everloop|pip|chmod) \S/.test(step);
