/** How a world could begin: proposed from what the player writes or from a card, and confirmed by the player. */
import { api, unwrap } from '$lib/api/client';
import { toField } from '../clock';
import type { Character } from '../types';

/** The fields of the form that opens a world. */
export type Opening = {
	title: string;
	player: string;
	description: string;
	place: string;
	placeDescription: string;
	clock: string;
	premise: string;
	weather: string;
	met: string;
	cast: string[];
};

export type ProposedOpening = Partial<Opening> & { readBy: string; more: string[] };

const UNNAMED_PLAYER = 'You';
const UNNAMED_PLACE = 'Where it begins';

/** A card's text with its macros filled in. */
export function fillMacros(text: string, name: string, player: string): string {
	return text.replace(/\{\{char\}\}|<BOT>/gi, name).replace(/\{\{user\}\}|<USER>/gi, player || 'you');
}

/** What a card says about how the story begins: its situation and first words. */
export function cardOpening(character: Character, player: string): string {
	const { name, scenario, greetings } = character.sheet;
	return [scenario, greetings[0] ?? ''].map((text) => fillMacros(text, name, player).trim()).filter(Boolean).join('\n\n');
}

/** A proposal from a text. Nothing is recorded. What the text does not say stays out of the proposal. */
export async function proposeOpening(prose: string): Promise<ProposedOpening> {
	const found = await unwrap(api.POST('/api/world-openings', { body: { prose, request_id: '' } }));
	const told: ProposedOpening = { readBy: found.read_by, more: found.more, premise: found.premise, title: found.title, clock: toField(found.clock) };
	if (found.player_name !== UNNAMED_PLAYER) told.player = found.player_name;
	if (found.player_description) told.description = found.player_description;
	if (found.place.name !== UNNAMED_PLACE) told.place = found.place.name;
	if (found.place.description) told.placeDescription = found.place.description;
	if (found.weather) told.weather = found.weather;
	if (found.met) told.met = found.met;
	if (found.characters.length) told.cast = found.characters;
	return told;
}
