/** What prompts were made of. A prompt never changes, so each is read once. */
import { api, told, type Shape } from '$lib/api/client';

export type Prompt = Shape<'PromptOut'>;
export type Section = Shape<'SectionOut'>;
export type Piece = Shape<'PieceOut'>;

const KEPT_MAX = 200;
const known = new Map<string, Promise<Prompt>>();

/** The prompt of that name. */
export function prompt(contextId: string): Promise<Prompt> {
	const found = known.get(contextId);
	if (found) return found;
	const asked = told(api.GET('/api/contexts/{context_id}', { params: { path: { context_id: contextId } } }));
	known.set(contextId, asked);
	asked.catch(() => known.delete(contextId));
	if (known.size > KEPT_MAX) known.delete(known.keys().next().value ?? '');
	return asked;
}

const turns = new Map<string, Promise<Shape<'TurnOut'>>>();

/** The turn of an answer; once it has ended it never changes. */
export function turnOf(turnId: string): Promise<Shape<'TurnOut'>> {
	const found = turns.get(turnId);
	if (found) return found;
	const asked = told(api.GET('/api/turns/{turn_id}', { params: { path: { turn_id: turnId } } }));
	turns.set(turnId, asked);
	asked.catch(() => turns.delete(turnId));
	if (turns.size > KEPT_MAX) turns.delete(turns.keys().next().value ?? '');
	return asked;
}
