/** Formats the arguments of tool calls, which are stored as JSON. */
const SUMMARY_CHARACTERS = 60;

/** The arguments as text: one line for each. */
export function formatArguments(json: string): string {
	const parsed = parse(json);
	if (!parsed) return json || 'Nothing.';
	const lines = Object.entries(parsed).map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
	return lines.join('\n') || 'Nothing.';
}

/** The first text among the arguments, for the line of a call; empty if there is none. */
export function summarizeArguments(json: string): string {
	const text = Object.values(parse(json) ?? {}).find((value): value is string => typeof value === 'string' && value.trim() !== '');
	if (!text) return '';
	const line = text.replace(/\s+/g, ' ').trim();
	return `“${line.length > SUMMARY_CHARACTERS ? `${line.slice(0, SUMMARY_CHARACTERS)}…` : line}”`;
}

function parse(json: string): Record<string, unknown> | null {
	try {
		const value: unknown = JSON.parse(json);
		return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
	} catch {
		return null;
	}
}
