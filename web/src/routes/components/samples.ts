/** Sample data for the component gallery: each component in each of its states. */
import type { Schema } from '$lib/api/client';
import { newId } from '$lib/browser/random-id';
import type { PendingAnswer, Period, OutgoingMessage, Message } from '$lib/thread/types';
import type { UsageRow } from '$lib/usage/usage';

const AT = '2026-03-09T09:30:00Z';

const message = (given: Partial<Message>): Message => ({
	position: 1,
	branch: 'b',
	thread_id: 'home',
	message_id: newId(),
	role: 'assistant',
	text: '',
	state: 'done',
	said_at: AT,
	turn_id: '',
	hidden: false,
	model: 'a-model',
	reason: '',
	hint: '',
	attachments: [],
	context_id: '',
	finish: '',
	reasoned: false,
	asked_at: AT,
	tools: [],
	...given
});

export const MESSAGES: Message[] = [
	message({ role: 'user', state: 'sent', model: '', text: 'A question with an attachment.', attachments: [{ digest: 'd', media_type: 'text/plain', name: 'weekly notes.txt', size: 4200 }] }),
	message({ text: 'An answer.' }),
	message({ text: 'Half an answer', state: 'stopped' }),
	message({ state: 'failed', reason: 'the model is out of credit', hint: 'Top up, or choose another one.' }),
	message({ text: 'Text so far', state: 'uncertain' }),
	message({ text: 'An answer that was cut off', finish: 'length', hint: 'Continue it, or raise thread.answer.tokens_max.' }),
	message({ text: 'Hidden', hidden: true }),
	message({ state: 'purged' }),
	message({ role: 'user', state: 'sent', model: '', text: 'سؤال من اليمين إلى اليسار' }),
	message({ role: 'user', state: 'sent', model: '', text: 'Donaudampfschifffahrtsgesellschaftskapitän'.repeat(6) })
];

const answer = (phase: Schema<'TurnOut'>['phase'], text: string, tools: Schema<'TurnOut'>['tools'] = []): PendingAnswer => ({
	text,
	turn: {
		turn_id: phase,
		thread_id: 'home',
		message_id: 'm',
		phase,
		phase_at: AT,
		recorded_at: AT,
		answer_id: '',
		context_id: '',
		model: 'a-model',
		saved: '',
		reason: '',
		hint: '',
		tools,
		reasoning: ''
	}
});
export const PENDING_ANSWERS: [PendingAnswer, number][] = [
	[answer('sending', ''), 0],
	[answer('streaming', 'It streams word by word'), 0],
	[answer('recorded', ''), 1]
];

export const OUTGOING: OutgoingMessage = { threadId: 'home', letterId: 'l', text: 'Written offline', attachments: [], writtenAt: AT, editing: '' };

const band = (tier: Period['band']['tier'], state: Period['band']['state'], text: string, important = false): Period => ({
	open: false,
	below: [],
	messages: [],
	band: { key: `${tier}-${state}`, tier, first: '2026-02-02', until: tier === 'day' ? '2026-02-03' : '2026-02-09', messages: 12, reason: '', item_id: '', tokens: 40, shown: true, state, text, important }
});
export const PERIODS = [band('week', 'fresh', 'The corpus is closed. Ten people came.'), band('week', 'missing', ''), band('day', 'failed', ''), band('day', 'stale', 'A day.', true)];

const piece = (key: string, text: string, tokens: number, left_out = '') => ({ key, text, tokens, left_out, positions: [1], sort: 'memory' });
export const PROMPT: Schema<'PromptOut'> = {
	context_id: 'c',
	tokens: 1500,
	soft: 4000,
	hard: 8000,
	counted_by: 'estimate',
	exact: false,
	texts: [],
	calls: [],
	sections: [
		{ name: 'you', tier: 'must', tokens: 100, tokens_max: 0, pieces: [{ ...piece('you', '', 100), sort: 'instructions' }] },
		{ name: 'years', tier: 'may', tokens: 900, tokens_max: 0, pieces: [piece('mem-1', 'A year in a paragraph.', 900)] },
		{ name: 'recalled', tier: 'may', tokens: 400, tokens_max: 0, pieces: [piece('mem-2', 'An included memory.', 400), piece('mem-3', 'A memory that was left out.', 500, 'section budget')] },
		{ name: 'question', tier: 'must', tokens: 100, tokens_max: 0, pieces: [piece('msg-1', 'The question.', 100)] }
	]
};

export const CHECKS: Schema<'CheckOut'>[] = [
	{ name: 'age', title: 'Minimum age', passed: true, fact: 'its text is 30 h old', violations: [], count: 108_000, required: 86_400, ready_at: null },
	{ name: 'uses', title: 'Used often enough', passed: false, fact: 'used 1 time', count: 1, required: 3, ready_at: null, violations: [{ code: 'u', fact: '1', message: '1 < 3', satisfied_by: 'use it 2 more times' }] }
];

export const PATH: Schema<'PathOut'> = {
	found: false,
	item: null,
	steps: [
		{ gate: 'here', state: 'passed', sentence: 'It is on the current branch.' },
		{ gate: 'words', state: 'nothing', sentence: 'It contains none of the keywords.' },
		{ gate: 'rank', state: 'stopped', sentence: 'Rank 31; the limit is 20.' }
	]
};

const line = (branch: string, parent: string, at: number, standing: boolean, text: string): Schema<'LineOut'> => ({ branch, parent, at, standing, left_after: parent && 'm', own: 3, newest: message({ text }) });
export const BRANCHES = [line('trunk', '', 0, false, 'The first branch'), line('one', 'trunk', 3, true, 'Another answer'), line('two', 'one', 5, false, 'A third one')];

const day = (count: number): string => new Date(Date.UTC(2026, 0, 5 + count * 7)).toISOString().slice(0, 10);
export const WEEKS = Array.from({ length: 12 }, (_, count) => day(count));
export const USAGE: UsageRow[] = WEEKS.map((since, count) => ({ since, model: 'a-model', purpose: 'answer', calls: count, tokens_in: 900 + count * 120, tokens_out: 100, tokens_cached: 600, cost_usd: 0.01 * (1 + (count % 5)), unpriced: 0, seconds: 4 }));
