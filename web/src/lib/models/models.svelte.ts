/** The models that may answer, shared by the composer, the banner and the settings. */
import { api, toApiError, unwrap, type ApiError, type Schema } from '$lib/api/client';
import { readLocal, writeLocal } from '$lib/browser/local-storage';

export type ModelInfo = Schema<'ModelsOut'>;
export type FoundModel = Schema<'FoundModel'>;
export type Connection = Schema<'Connection'>;

export const BUILT_IN = 'offline';
const DISMISSED = 'built-in-banner';

/** Names of services, as people know them. */
const SERVICES: Record<string, string> = {
	anthropic: 'Anthropic',
	openai: 'OpenAI',
	openrouter: 'OpenRouter',
	ollama: 'Ollama',
	lmstudio: 'LM Studio',
	llamacpp: 'llama.cpp',
	vllm: 'vLLM',
	claude: 'Claude Code',
	local: 'Local model',
	endpoint: 'Own server'
};

export const serviceOf = (model: string) => model.split(':')[0] ?? '';
export const serviceName = (service: string) => SERVICES[service] ?? service;

/** A model's name for people: `endpoint:llama3.2` is "llama3.2", the built-in one says what it is. */
export function modelLabel(model: string): string {
	if (model === BUILT_IN) return 'Built-in, no model';
	const [service = '', ...rest] = model.split(':');
	return rest.join(':') || serviceName(service);
}

class Models {
	info = $state.raw<ModelInfo | null>(null);
	error = $state.raw<ApiError | null>(null);
	/** Whether the panel that connects a model is open. */
	connecting = $state(false);
	/** Whether the banner about the built-in model was dismissed on this device. */
	dismissed = $state(readLocal(DISMISSED) !== null);
	#loading: Promise<void> | null = null;

	/** Load once; `refresh` also looks for servers on the machine again. */
	load(refresh = false): Promise<void> {
		if (!refresh && this.info) return Promise.resolve();
		this.#loading ??= this.#load(refresh).finally(() => (this.#loading = null));
		return this.#loading;
	}

	dismiss(): void {
		this.dismissed = true;
		writeLocal(DISMISSED, 'yes');
	}

	async connect(body: Connection): Promise<void> {
		this.info = await unwrap(api.PUT('/api/models/services', { body }));
	}

	async disconnect(service: string): Promise<void> {
		this.info = await unwrap(api.DELETE('/api/models/services/{service}', { params: { path: { service } } }));
	}

	async choose(slot: Schema<'ModelChoiceIn'>['slot'], name: string): Promise<void> {
		this.info = await unwrap(api.PUT('/api/models', { body: { slot, models: name } }));
	}

	async #load(refresh: boolean): Promise<void> {
		try {
			this.info = await unwrap(api.GET('/api/models', refresh ? { params: { query: { refresh } } } : {}));
			this.error = null;
		} catch (error) {
			this.error = toApiError(error);
		}
	}
}

export const models = new Models();
