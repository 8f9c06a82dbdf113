/** Applies facts from the event stream to messages and turns. Pure: depends on nothing but the fact. */
import type { Fact } from '$lib/live/fact';
import type { Attachment, Message, Turn } from '../types';

const END_STATES: Record<string, string> = {
	'thread.answer_given': 'done',
	'thread.turn_stopped': 'stopped',
	'thread.turn_failed': 'failed',
	'thread.turn_left_uncertain': 'uncertain'
};

const text = (data: Fact['data'], name: string): string => {
	const value = data?.[name];
	return typeof value === 'string' ? value : '';
};

/** The message that a fact records, if it records one. An answer needs its turn and its question, to stand after it. */
export function messageFromFact(fact: Fact, turn?: Turn, question?: Message): Message | null {
	const { kind, data } = fact;
	const state = kind === 'thread.message_sent' ? 'sent' : kind === 'thread.report_posted' ? 'report' : END_STATES[kind];
	if (!state || !text(data, 'message_id')) return null;
	return {
		position: fact.position,
		branch: fact.branch,
		thread_id: text(data, 'thread_id'),
		message_id: text(data, 'message_id'),
		role: state === 'sent' ? 'user' : 'assistant',
		text: text(data, 'text'),
		state,
		said_at: fact.recorded_at,
		turn_id: text(data, 'turn_id'),
		hidden: false,
		model: text(data, 'model'),
		reason: text(data, 'reason'),
		hint: text(data, 'hint'),
		finish: text(data, 'finish'),
		reasoned: false,
		attachments: (data?.attachments as Attachment[] | undefined) ?? [],
		asked_at: question?.said_at ?? fact.recorded_at,
		tools: turn?.tools ?? [],
		context_id: turn?.context_id ?? ''
	};
}

/** The id of the turn that a fact ends; empty if it ends none. */
export function endedTurnId(fact: Fact): string {
	return END_STATES[fact.kind] ? text(fact.data, 'turn_id') : '';
}

/** A turn after a fact; null if the fact does not change a turn. */
export function reduceTurn(turn: Turn | undefined, fact: Fact): Turn | null {
	const at = fact.recorded_at;
	switch (fact.kind) {
		case 'thread.turn_recorded':
			return newTurn(fact);
		case 'thread.turn_sending': {
			const named = { answer_id: text(fact.data, 'answer_id'), model: text(fact.data, 'model') };
			const context_id = text(fact.data, 'context_id');
			return turn ? { ...turn, ...named, context_id, phase: 'sending', phase_at: at } : null;
		}
		case 'thread.turn_streaming':
			return turn ? { ...turn, phase: 'streaming', phase_at: at } : null;
		case 'thread.tool_used': {
			const used = fact.data as unknown as Turn['tools'][number];
			return turn ? { ...turn, tools: [...turn.tools, used] } : null;
		}
		default:
			return null;
	}
}

function newTurn(fact: Fact): Turn {
	return {
		turn_id: text(fact.data, 'turn_id'),
		thread_id: text(fact.data, 'thread_id'),
		message_id: text(fact.data, 'message_id'),
		answer_id: '',
		phase: 'recorded',
		model: '',
		context_id: '',
		recorded_at: fact.recorded_at,
		phase_at: fact.recorded_at,
		saved: '',
		reason: '',
		hint: '',
		tools: [],
		reasoning: ''
	};
}
