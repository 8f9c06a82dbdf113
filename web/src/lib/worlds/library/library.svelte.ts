/** The library: worlds, and the characters that can play in them. */
import { api, unwrap } from '$lib/api/client';
import { Query } from '$lib/live/query.svelte';
import { reloadOn } from '$lib/live/reload-on';
import type { Character, WorldLine } from '../types';

export class Library {
	worlds = new Query<WorldLine[]>();
	characters = new Query<Character[]>();

	constructor(readonly archived = false) {}

	/** Load both lists, and reload when they change. Returns a function that stops. */
	follow(): () => void {
		this.load();
		return reloadOn(/^worlds\.(world|character)_/, () => this.load());
	}

	load(): void {
		void this.worlds.run(() => unwrap(api.GET('/api/worlds', { params: { query: { archived: this.archived } } })));
		void this.characters.run(() => unwrap(api.GET('/api/characters', { params: { query: {} } })));
	}
}
