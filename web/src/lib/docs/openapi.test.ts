import { expect, test } from 'vitest';
import { groupOperations, typeName, type OpenApi } from './openapi';

const api: OpenApi = {
	info: { title: 'Everloop', version: '1' },
	paths: {
		'/api/memories/{item_id}': {
			get: { tags: ['memories'], description: 'One memory.', parameters: [{ name: 'item_id', in: 'path', required: true, schema: { type: 'string' } }], responses: { '200': { description: 'OK', content: { 'application/json': { schema: { $ref: '#/components/schemas/ItemOut' } } } } } },
			patch: { tags: ['memories'], description: 'Change it.', requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/ItemOut' } } } }, responses: {} }
		},
		'/api/health': { get: { tags: ['health'], description: 'Health check.', responses: {} } }
	},
	components: { schemas: { ItemOut: { type: 'object', required: ['text'], properties: { text: { type: 'string' }, title: { anyOf: [{ type: 'string' }, { type: 'null' }] } } } } }
};

test('routes are grouped by topic with their fields', () => {
	const groups = groupOperations(api);
	expect(groups.map((group) => group.name)).toEqual(['health', 'memories']);
	const [get, patch] = groups[1]?.operations ?? [];
	expect(get?.parameters).toEqual([{ name: 'item_id', type: 'string', required: true, note: 'path' }]);
	expect(get?.responses[0]?.fields.map((field) => [field.name, field.type, field.required])).toEqual([['text', 'string', true], ['title', 'string | null', false]]);
	expect(patch?.bodyType).toBe('ItemOut');
});

test('a search keeps the routes that match', () => {
	expect(groupOperations(api, 'health').flatMap((group) => group.operations.map((one) => one.path))).toEqual(['/api/health']);
	expect(groupOperations(api, 'nothing such')).toEqual([]);
});

test('types read like words', () => {
	expect(typeName({ type: 'array', items: { $ref: '#/components/schemas/ItemOut' } })).toBe('list of ItemOut');
	expect(typeName({ enum: ['a', 'b'] })).toBe('"a" | "b"');
});
