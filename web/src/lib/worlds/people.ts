/** How people of a world are shown: their names and hues. The player has the first hue, the cast the others in order. */
import { NARRATOR, PLAYER, type World } from './types';

const CAST_HUES = [2, 3, 4, 5, 6, 7, 8];

/** The name of someone who is or was in a world. */
export function nameOf(world: World, who: string): string {
	if (who === NARRATOR) return 'Narrator';
	return world.names[who] ?? who;
}

/** The hue of someone, 1 to 8. */
export function hueOf(world: World, who: string): number {
	if (who === PLAYER) return 1;
	const index = Object.keys(world.names)
		.filter((one) => one !== PLAYER)
		.indexOf(who);
	return index < 0 ? 6 : (CAST_HUES[index % CAST_HUES.length] ?? 6);
}

/** Names as they are listed in a sentence. */
export function listNames(names: string[]): string {
	return names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : (names[0] ?? 'nobody');
}

/** How a line was learned, in words. */
export const LEARNED: Record<string, string> = { saw: 'Was there', overheard: 'Overheard it', told: 'Was told later' };
