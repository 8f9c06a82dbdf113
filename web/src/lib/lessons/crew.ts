/** Kinds of crew entries (skills, personas, teams) and their names. */
export type CrewKind = 'skill' | 'persona' | 'team';

export const CREW_KINDS: Record<CrewKind, { singular: string; plural: string }> = {
	skill: { singular: 'skill', plural: 'Skills' },
	persona: { singular: 'persona', plural: 'Personas' },
	team: { singular: 'team', plural: 'Teams' }
};
