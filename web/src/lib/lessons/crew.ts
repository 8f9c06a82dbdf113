/** Skills, personas and teams, and what they are called. */
export type Sort = 'skill' | 'persona' | 'team';

export const SORTS: Record<Sort, { one: string; many: string }> = {
	skill: { one: 'skill', many: 'Skills' },
	persona: { one: 'persona', many: 'Personas' },
	team: { one: 'team', many: 'Teams' }
};
