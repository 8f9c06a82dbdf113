/** Retracts a fact; retried until the server answers. Returns the position to retract in order to undo it. */
import { api, unwrap } from './client';
import { RetryingRequest } from './retrying-request';

export async function retract(position: number, force: boolean): Promise<number> {
	const params = { path: { position } };
	const body = { reason: 'undone', force };
	const done = await new RetryingRequest().send(body, (request_id) => unwrap(api.POST('/api/retractions/{position}', { params, body: { ...body, request_id } })));
	return done.position;
}
