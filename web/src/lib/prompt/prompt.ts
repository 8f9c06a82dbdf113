/** Loads prompts and turns. They never change once recorded, so they are cached. */
import { api, unwrap, type Schema } from '$lib/api/client';
import { RequestCache } from '$lib/api/request-cache';

export type Prompt = Schema<'PromptOut'>;
export type Section = Schema<'SectionOut'>;
export type Piece = Schema<'PieceOut'>;

const CACHED_MAX = 200;
const prompts = new RequestCache<Prompt>(CACHED_MAX);
const turns = new RequestCache<Schema<'TurnOut'>>(CACHED_MAX);

/** The prompt with this id. */
export function loadPrompt(contextId: string): Promise<Prompt> {
	const params = { path: { context_id: contextId } };
	return prompts.get(contextId, () => unwrap(api.GET('/api/contexts/{context_id}', { params })));
}

/** The turn of a finished answer. */
export function loadTurn(turnId: string): Promise<Schema<'TurnOut'>> {
	const params = { path: { turn_id: turnId } };
	return turns.get(turnId, () => unwrap(api.GET('/api/turns/{turn_id}', { params })));
}
