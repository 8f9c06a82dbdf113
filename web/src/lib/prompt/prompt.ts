/** What prompts were made of. A prompt never changes, so each is read once. */
import { api, told, type Shape } from '$lib/api/client';
import { Once } from '$lib/api/request-cache';

export type Prompt = Shape<'PromptOut'>;
export type Section = Shape<'SectionOut'>;
export type Piece = Shape<'PieceOut'>;

const KEPT_MAX = 200;
const prompts = new Once<Prompt>(KEPT_MAX);
const turns = new Once<Shape<'TurnOut'>>(KEPT_MAX);

/** The prompt of that name. */
export function prompt(contextId: string): Promise<Prompt> {
	const params = { path: { context_id: contextId } };
	return prompts.of(contextId, () => told(api.GET('/api/contexts/{context_id}', { params })));
}

/** The turn of an answer; once it has ended it never changes. */
export function turnOf(turnId: string): Promise<Shape<'TurnOut'>> {
	const params = { path: { turn_id: turnId } };
	return turns.of(turnId, () => told(api.GET('/api/turns/{turn_id}', { params })));
}
