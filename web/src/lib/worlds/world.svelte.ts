/** One world as it stands: the situation, the messages of its story, the reply that is being written, and what the player can do. */
import { api, unwrap, type Schema } from '$lib/api/client';
import { retract } from '$lib/api/retract';
import { RetryingRequest } from '$lib/api/retrying-request';
import { applyDelta, streamedText, type Fact, type StreamedText } from '$lib/live/fact';
import { Query } from '$lib/live/query.svelte';
import { session } from '$lib/session/session.svelte';
import { toasts } from '$lib/ui';
import { tryAction } from '$lib/ui/feedback/try-action';
import { PLAYER, type LearnedVia, type StoryMessage, type World } from './types';

const DEBOUNCE_MS = 120;
const PAGE = 60;

export type LineToSay = { text: string; witnesses: string[]; reply: boolean; replyBy: string };
export type Confirmation = { action: 'rewind' | 'retract'; message: StoryMessage; impact: Schema<'ImpactOut'> | null };

export class WorldState {
	situation = new Query<World>();
	messages = $state.raw<StoryMessage[]>([]);
	earlier = $state(false);
	loaded = $state(false);
	/** The text of the reply that is being written. */
	pending = $state.raw<StreamedText>(streamedText(''));
	busy = $state(false);
	/** What rewinding or deleting would change, before it is done. */
	confirmation = $state.raw<Confirmation | null>(null);
	/** Why the last reply did not come, and whose it was. */
	failure = $state<{ reason: string; hint: string; speaker: string } | null>(null);
	#request = new RetryingRequest();
	#timer: ReturnType<typeof setTimeout> | undefined;
	#turn = '';

	constructor(readonly worldId: string) {}

	get world(): World | null {
		return this.situation.data;
	}

	get #path() {
		return { world_id: this.worldId };
	}

	/** Load it, and keep it up to date. Returns a function that stops. */
	follow(): () => void {
		void this.load();
		const unsubscribe = session.events.listen({
			reset: () => void this.load(),
			fact: (fact) => this.#fact(fact),
			delta: (delta) => {
				if (delta.thread_id !== this.worldId || delta.thought) return;
				if (delta.turn_id !== this.#turn) [this.#turn, this.pending] = [delta.turn_id, streamedText('')];
				if (delta.text) this.pending = applyDelta(this.pending, delta) ?? this.pending;
			}
		});
		return () => {
			clearTimeout(this.#timer);
			unsubscribe();
		};
	}

	async load(): Promise<void> {
		const page = unwrap(api.GET('/api/worlds/{world_id}/messages', { params: { path: this.#path, query: { limit: Math.max(PAGE, this.messages.length) } } }));
		await this.situation.run(async () => {
			const world = await unwrap(api.GET('/api/worlds/{world_id}', { params: { path: this.#path } }));
			const found = await page;
			[this.messages, this.earlier, this.loaded] = [found.messages, found.earlier, true];
			if (!world.turn) this.pending = streamedText('');
			else if (world.turn.text && !this.pending.text) this.pending = streamedText(world.turn.text);
			return world;
		});
	}

	async loadEarlier(): Promise<void> {
		const before = this.messages[0]?.position;
		if (!before) return;
		await tryAction(async () => {
			const query = { before, limit: PAGE };
			const found = await unwrap(api.GET('/api/worlds/{world_id}/messages', { params: { path: this.#path, query } }));
			[this.messages, this.earlier] = [[...found.messages, ...this.messages], found.earlier];
		});
	}

	#fact(fact: Fact): void {
		const mine = fact.stream === `world:${this.worldId}` || fact.stream.startsWith(`world:${this.worldId}:`);
		if (!mine && !fact.kind.startsWith('log.') && !fact.kind.startsWith('worlds.character_')) return;
		if (fact.kind === 'worlds.turn_failed' && fact.data) {
			const speaker = this.world?.turn?.speaker ?? '';
			this.failure = { reason: String(fact.data.reason ?? ''), hint: String(fact.data.hint ?? ''), speaker: speaker === PLAYER ? '' : speaker };
		}
		if (fact.kind === 'worlds.turn_recorded') this.failure = null;
		if (fact.kind === 'worlds.reply_saved' || fact.kind === 'worlds.turn_streaming') return; // the words arrive by themselves
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => void this.load(), DEBOUNCE_MS);
	}

	/** Run an action that answers with the situation, or with anything else, and show what went wrong. */
	async act(action: () => Promise<World | unknown>): Promise<boolean> {
		this.busy = true;
		const done = await tryAction(async () => {
			await action();
			await this.load();
		});
		this.busy = false;
		return done;
	}

	/** Say a line and request the reply. */
	say(line: LineToSay): Promise<boolean> {
		const { text, witnesses, reply, replyBy } = line;
		const body = { text, speaker: PLAYER, addressee: '', witnesses, reply, reply_by: replyBy };
		return this.act(() =>
			this.#request.send(body, (request_id) =>
				unwrap(api.POST('/api/worlds/{world_id}/lines', { params: { path: this.#path }, body: { ...body, request_id } }))
			)
		);
	}

	requestReply(mode: 'next' | 'continue' | 'impersonate', speaker = '', direction = ''): Promise<boolean> {
		const body = { mode, speaker, direction, request_id: '' };
		return this.act(() => unwrap(api.POST('/api/worlds/{world_id}/replies', { params: { path: this.#path }, body })));
	}

	requestVersion(message: StoryMessage, direction = ''): Promise<boolean> {
		const path = { ...this.#path, message_id: message.message_id };
		return this.act(() => unwrap(api.POST('/api/worlds/{world_id}/messages/{message_id}/versions', { params: { path }, body: { direction, request_id: '' } })));
	}

	chooseVersion(message: StoryMessage, version_id: string): Promise<boolean> {
		const path = { ...this.#path, message_id: message.message_id };
		return this.act(() => unwrap(api.PUT('/api/worlds/{world_id}/messages/{message_id}/version', { params: { path }, body: { version_id, request_id: '' } })));
	}

	stop(): Promise<boolean> {
		const turn_id = this.world?.turn?.turn_id;
		if (!turn_id) return Promise.resolve(false);
		return this.act(() => unwrap(api.POST('/api/worlds/{world_id}/turns/{turn_id}/stop', { params: { path: { ...this.#path, turn_id } }, body: { request_id: '' } })));
	}

	edit(message: StoryMessage, text: string): Promise<boolean> {
		const path = { ...this.#path, message_id: message.message_id };
		return this.act(() => unwrap(api.PUT('/api/worlds/{world_id}/messages/{message_id}/text', { params: { path }, body: { text, request_id: '' } })));
	}

	hide(message: StoryMessage, hidden: boolean): Promise<boolean> {
		const path = { ...this.#path, message_id: message.message_id };
		return this.act(() => unwrap(api.PUT('/api/worlds/{world_id}/messages/{message_id}/hidden', { params: { path }, body: { hidden, request_id: '' } })));
	}

	correctWitnesses(message: StoryMessage, witnesses: string[], learned_via: Record<string, LearnedVia>): Promise<boolean> {
		const path = { ...this.#path, message_id: message.message_id };
		return this.act(() =>
			unwrap(api.PUT('/api/worlds/{world_id}/messages/{message_id}/witnesses', { params: { path }, body: { witnesses, learned_via, request_id: '' } }))
		);
	}

	/** Ask before rewinding or deleting, with a preview of what would go. */
	async ask(action: 'rewind' | 'retract', message: StoryMessage): Promise<void> {
		this.confirmation = { action, message, impact: null };
		await tryAction(async () => {
			const impact = await this.preview(action, message.message_id);
			if (this.confirmation?.message === message) this.confirmation = { action, message, impact };
		});
	}

	/** What rewinding to just before a message, or deleting it, would hide. */
	preview(action: 'rewind' | 'retract', message_id: string): Promise<Schema<'ImpactOut'>> {
		const params = { path: { ...this.#path, message_id } };
		return action === 'rewind'
			? unwrap(api.GET('/api/worlds/{world_id}/messages/{message_id}/rewind', { params }))
			: unwrap(api.GET('/api/worlds/{world_id}/messages/{message_id}/retraction', { params }));
	}

	async confirm(): Promise<void> {
		const asked = this.confirmation;
		this.confirmation = null;
		if (asked?.action === 'rewind') await this.rewind(asked.message.message_id);
		else if (asked) await this.#retract(asked.message);
	}

	/** Go back to just before a message; the story so far stays on its branch. */
	async rewind(message_id: string): Promise<boolean> {
		const before = this.world?.branch ?? '';
		const params = { path: { ...this.#path, message_id } };
		const done = await this.act(() => unwrap(api.POST('/api/worlds/{world_id}/messages/{message_id}/rewind', { params, body: { request_id: '' } })));
		if (done) toasts.show('Rewound. The story so far is kept on its own branch.', { label: 'Undo', run: () => void this.switchBranch(before) });
		return done;
	}

	/** Try another course after a message. */
	async branchAfter(message_id: string): Promise<boolean> {
		const before = this.world?.branch ?? '';
		const params = { path: { ...this.#path, message_id } };
		const done = await this.act(() => unwrap(api.POST('/api/worlds/{world_id}/messages/{message_id}/branch', { params, body: { request_id: '' } })));
		if (done) toasts.show('You are on a new branch.', { label: 'Go back', run: () => void this.switchBranch(before) });
		return done;
	}

	switchBranch(branch: string): Promise<boolean> {
		return this.act(() => unwrap(api.POST('/api/worlds/{world_id}/branch', { params: { path: this.#path }, body: { branch, request_id: '' } })));
	}

	async #retract(message: StoryMessage): Promise<void> {
		const path = { ...this.#path, message_id: message.message_id };
		let position = 0;
		const done = await this.act(async () => {
			const body = { reason: '', request_id: '' };
			({ position } = await unwrap(api.POST('/api/worlds/{world_id}/messages/{message_id}/retraction', { params: { path }, body })));
		});
		if (done) toasts.show('Deleted, with everything that came of it.', { label: 'Undo', run: () => void this.act(() => retract(position, false)) });
	}
}
