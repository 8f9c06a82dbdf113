/** The sections of the settings page, and the words by which each is found. */
export type Section = { id: string; title: string; words: string };

export const SECTIONS: Section[] = [
	{ id: 'models', title: 'Models', words: 'model provider key ollama openai claude anthropic answer classifier' },
	{ id: 'tools', title: 'Tools (MCP servers)', words: 'tool mcp server command' },
	{ id: 'notifications', title: 'Push messages', words: 'push notification inbox webhook mail digest test' },
	{ id: 'appearance', title: 'Appearance', words: 'theme dark light colour color text size font' },
	{ id: 'speech', title: 'Speech', words: 'voice dictation microphone read aloud speak listen' },
	{ id: 'time-zone', title: 'Time zone', words: 'clock date day region' },
	{ id: 'import-export', title: 'Import and export', words: 'import export backup chatgpt claude conversations archive download' },
	{ id: 'background', title: 'Background tasks', words: 'task job progress embedding summary indexing' },
	{ id: 'log', title: 'Log integrity', words: 'verify damage check hash' },
	{ id: 'all', title: 'All settings', words: 'limit timeout tokens advanced value default' }
];

/** The sections that match every word of a search. The list of all settings filters itself. */
export function matchingSections(search: string): Section[] {
	const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
	return SECTIONS.filter((section) => section.id === 'all' || wanted.every((word) => `${section.title} ${section.words}`.toLowerCase().includes(word)));
}

/** The name of a setting in plain words: `thread.answer.tokens_max` becomes `Answer tokens max`. */
export function plainName(name: string): string {
	const [, ...rest] = name.split('.');
	const words = (rest.length ? rest : [name]).join(' ').replace(/_s$/, ' (seconds)').replace(/_max$/, ', at most').replace(/_min$/, ', at least').replace(/_/g, ' ');
	return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A value of a setting as it is shown. */
export function formatValue(value: string | number | boolean): string {
	if (typeof value === 'boolean') return value ? 'on' : 'off';
	return value === '' ? '–' : String(value);
}
