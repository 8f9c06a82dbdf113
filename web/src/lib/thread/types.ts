/** What the thread page is made of, as the engine gives it, and the rows that it becomes. */
import type { Shape } from '$lib/api/client';

export type Message = Shape<'MessageOut'>;
export type Turn = Shape<'TurnOut'>;
export type Band = Shape<'BandOut'>;
/** From the widest windows to days. */
export const TIERS: Band['tier'][] = ['decade', 'year', 'month', 'week', 'day'];

export type Line = Shape<'LineOut'>;
export type Attachment = Shape<'AttachmentOut'>;

/** A window of the past that is folded; opened, it holds smaller ones or, of a day, its messages. */
export type Fold = { band: Band; open: boolean; below: Fold[]; messages: Message[] };

/** Something said that the engine has not confirmed yet. */
export type Letter = {
	letterId: string;
	text: string;
	attachments: Attachment[];
	writtenAt: string;
	editing: string;
};

/** An answer that is still to come, or comes just now. */
export type Coming = { turn: Turn; text: string };

export type Row =
	| { sort: 'fold'; key: string; fold: Fold; open: boolean; depth: number }
	| { sort: 'day'; key: string; day: string }
	| { sort: 'message'; key: string; message: Message; day: string }
	| { sort: 'coming'; key: string; coming: Coming; ahead: number }
	| { sort: 'letter'; key: string; letter: Letter };
