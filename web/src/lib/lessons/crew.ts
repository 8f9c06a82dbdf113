/** Kinds of crew entries (skills, personas, teams) and their names. */
export type CrewKind = 'skill' | 'persona' | 'team';

export const CREW_KINDS: Record<CrewKind, { one: string; many: string }> = {
	skill: { one: 'skill', many: 'Skills' },
	persona: { one: 'persona', many: 'Personas' },
	team: { one: 'team', many: 'Teams' }
};
