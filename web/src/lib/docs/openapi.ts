/** Reads the description of the HTTP API (OpenAPI) for the page that shows it. */
import { ApiError, toApiError } from '$lib/api/client';
import { keyHeaders } from '$lib/api/device-key.svelte';

type SchemaObject = { $ref?: string; type?: string; anyOf?: SchemaObject[]; allOf?: SchemaObject[]; items?: SchemaObject; enum?: unknown[]; const?: unknown; format?: string; properties?: Record<string, SchemaObject>; required?: string[]; description?: string; default?: unknown };
type Content = { content?: Record<string, { schema?: SchemaObject }>; description?: string };
type Described = { tags?: string[]; summary?: string; description?: string; parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: SchemaObject }[]; requestBody?: Content; responses?: Record<string, Content> };
export type OpenApi = { info: { title: string; version: string }; paths: Record<string, Record<string, Described>>; components?: { schemas?: Record<string, SchemaObject> } };

export type Field = { name: string; type: string; required: boolean; note: string };
export type Operation = { id: string; method: string; path: string; description: string; parameters: Field[]; body: Field[]; bodyType: string; responses: { status: string; description: string; type: string; fields: Field[] }[] };
export type Group = { name: string; operations: Operation[] };

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Load the description. It needs a signed-in device, like the routes that it describes. */
export async function loadOpenApi(): Promise<OpenApi> {
	const response = await fetch('/openapi.json', { headers: keyHeaders() });
	if (!response.ok) throw toApiError(new ApiError('The description of the API could not be loaded.', 'Sign in and try again.', response.status));
	return (await response.json()) as OpenApi;
}

/** The routes by topic, in the order in which they are described. */
export function groupOperations(api: OpenApi, search = ''): Group[] {
	const groups = new Map<string, Operation[]>();
	for (const [path, methods] of Object.entries(api.paths))
		for (const method of METHODS) {
			const described = methods[method];
			if (!described) continue;
			const operation = describeOperation(api, method, path, described);
			if (!`${method} ${path} ${operation.description}`.toLowerCase().includes(search.trim().toLowerCase())) continue;
			const name = described.tags?.[0] ?? 'other';
			groups.set(name, [...(groups.get(name) ?? []), operation]);
		}
	return [...groups].map(([name, operations]) => ({ name, operations })).sort((one, other) => one.name.localeCompare(other.name));
}

function describeOperation(api: OpenApi, method: string, path: string, described: Described): Operation {
	const body = bodySchema(described.requestBody);
	return {
		id: `${method}${path}`.replace(/\W+/g, '-'),
		method: method.toUpperCase(),
		path,
		description: described.description ?? described.summary ?? '',
		parameters: (described.parameters ?? []).map((one) => ({ name: one.name, type: typeName(one.schema), required: one.required ?? false, note: [one.in, one.description].filter(Boolean).join(': ') })),
		body: fieldsOf(api, body),
		bodyType: body ? typeName(body) : '',
		responses: Object.entries(described.responses ?? {}).map(([status, response]) => {
			const schema = bodySchema(response);
			return { status, description: response.description ?? '', type: schema ? typeName(schema) : '', fields: status.startsWith('2') ? fieldsOf(api, schema) : [] };
		})
	};
}

function bodySchema(content: Content | undefined): SchemaObject | undefined {
	return Object.values(content?.content ?? {})[0]?.schema;
}

/** The fields of an object, or of the objects in a list. */
function fieldsOf(api: OpenApi, schema: SchemaObject | undefined): Field[] {
	const found = resolve(api, schema?.items ?? schema);
	return Object.entries(found?.properties ?? {}).map(([name, field]) => ({
		name,
		type: typeName(field),
		required: found?.required?.includes(name) ?? false,
		note: [field.description, field.default === undefined ? '' : `default ${JSON.stringify(field.default)}`].filter(Boolean).join('; ')
	}));
}

function resolve(api: OpenApi, schema: SchemaObject | undefined): SchemaObject | undefined {
	const ref = schema?.$ref ?? schema?.anyOf?.find((one) => one.$ref)?.$ref;
	return ref ? api.components?.schemas?.[ref.split('/').pop() ?? ''] : schema;
}

/** A type as one reads it: `string | null`, `list of MemoryOut`. */
export function typeName(schema: SchemaObject | undefined): string {
	if (!schema) return 'any';
	if (schema.$ref) return schema.$ref.split('/').pop() ?? '';
	const options = schema.anyOf ?? schema.allOf;
	if (options) return options.map(typeName).join(' | ');
	if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
	if (schema.const !== undefined) return JSON.stringify(schema.const);
	if (schema.type === 'array') return `list of ${typeName(schema.items)}`;
	return schema.format ? `${schema.type} (${schema.format})` : (schema.type ?? 'any');
}
