/** Types of the thread page: API objects, and the rows they are shown as. */
import type { Schema } from '$lib/api/client';

export type Message = Schema<'MessageOut'>;
export type Turn = Schema<'TurnOut'>;
export type Band = Schema<'BandOut'>;
/** Summary tiers, widest first. */
export const TIERS: Band['tier'][] = ['decade', 'year', 'month', 'week', 'day'];

export type BranchInfo = Schema<'LineOut'>;
export type ToolName = Schema<'ToolNameOut'>;
export type ToolCall = Schema<'ToolOut'>;
export type Attachment = Schema<'AttachmentOut'>;

/** A summarised period of the past; expanded, it contains shorter periods or, for a day, its messages. */
export type Period = { band: Band; open: boolean; below: Period[]; messages: Message[] };

/** A message that the server has not confirmed yet. */
export type OutgoingMessage = {
	threadId: string;
	letterId: string;
	text: string;
	attachments: Attachment[];
	writtenAt: string;
	editing: string;
	options?: Schema<'Options'>;
};

/** An answer that is queued or being generated. */
export type PendingAnswer = { turn: Turn; text: string; thought?: string };

export type Row =
	| { type: 'period'; key: string; period: Period; open: boolean; depth: number }
	| { type: 'day'; key: string; day: string }
	| { type: 'message'; key: string; message: Message; day: string }
	| { type: 'task'; key: string; task: Schema<'WorkerTaskOut'> }
	| { type: 'suggestion'; key: string; suggestion: Schema<'RoutingSuggestionOut'> }
	| { type: 'pending'; key: string; answer: PendingAnswer; ahead: number }
	| { type: 'outgoing'; key: string; outgoing: OutgoingMessage };
