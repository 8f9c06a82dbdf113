/** Retracts a fact; retried until the server answers. */
import { api, unwrap } from './client';
import { RetryingRequest } from './retrying-request';

export async function retract(position: number, force: boolean): Promise<void> {
	const params = { path: { position } };
	const body = { reason: 'undone', force };
	await new RetryingRequest().send(body, (request_id) => unwrap(api.POST('/api/retractions/{position}', { params, body: { ...body, request_id } })));
}
