/** What the pages of worlds show, as the API describes it. */
import type { Schema } from '$lib/api/client';

export type Character = Schema<'CharacterOut'>;
export type Sheet = Schema<'SheetOut'>;
export type WorldLine = Schema<'WorldLineOut'>;
export type World = Schema<'WorldOut'>;
export type Person = Schema<'PersonOut'>;
export type Place = Schema<'PlaceOut'>;
export type StoryMessage = Schema<'StoryMessageOut'>;
export type Edge = Schema<'EdgeOut'>;
export type Relationships = Schema<'RelationshipsOut'>;
export type Course = Schema<'CourseOut'>;
export type SceneRecord = Schema<'SceneOut'>;
export type Knowledge = Schema<'KnowledgeOut'>;
export type Prop = Schema<'PropOut'>;
export type Lore = Schema<'LoreOut'>;
export type WorldBranch = Schema<'WorldBranchOut'>;
export type Comparison = Schema<'WorldComparisonOut'>;
export type WorldPrompt = Schema<'WorldPromptOut'>;
export type WorldMemory = Schema<'WorldMemoryOut'>;
export type WorldMemories = Schema<'WorldMemoriesOut'>;
export type TurnRead = Schema<'TurnReadOut'>;
export type TurnsRead = Schema<'TurnsReadOut'>;
export type LearnedVia = 'saw' | 'overheard' | 'told';

/** The id of the player and of the narrator in every world. */
export const PLAYER = 'you';
export const NARRATOR = 'narrator';
