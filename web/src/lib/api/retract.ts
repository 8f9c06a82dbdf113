/** Taking a fact back: asked once, however often nobody answers. */
import { api, told } from './client';
import { Attempts } from './retrying-request';

export async function retract(position: number, force: boolean): Promise<void> {
	const params = { path: { position } };
	const body = { reason: 'undone', force };
	await new Attempts().make(body, (request_id) => told(api.POST('/api/retractions/{position}', { params, body: { ...body, request_id } })));
}
