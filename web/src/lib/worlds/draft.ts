import { readLocal, writeLocal } from '$lib/browser/local-storage';
import type { LineKind } from './story-text';

/** A line that is not sent yet. Whom it is for is kept with it: a whisper must not become public. */
export type Draft = { text: string; kind: LineKind; scene: string; witnesses: string[] };

const EMPTY: Draft = { text: '', kind: 'speech', scene: '', witnesses: [] };
const nameOfDraft = (worldId: string) => `world-draft:${worldId}`;

/** The draft of a world in this browser. */
export function readDraft(worldId: string): Draft {
	const stored = readLocal(nameOfDraft(worldId));
	if (!stored) return EMPTY;
	try {
		return { ...EMPTY, ...(JSON.parse(stored) as Partial<Draft>) };
	} catch {
		return { ...EMPTY, text: stored };
	}
}

/** Keep the draft of a world in this browser. */
export function storeDraft(worldId: string, draft: Draft): void {
	writeLocal(nameOfDraft(worldId), JSON.stringify(draft));
}

/** Who hears the draft in a scene: whom it was for there; in another scene, all who are present. */
export function witnessesOf(draft: Draft, scene: string, present: readonly string[]): string[] {
	return draft.scene === scene ? present.filter((who) => draft.witnesses.includes(who)) : [...present];
}
