/** Splits a command line into words as a shell does: quotes and backslashes, but no variables and no pipes. */

/** The words of a command line; null while a quote is open. */
export function splitCommand(line: string): string[] | null {
	const words: string[] = [];
	const pattern = /\s*((?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\])+)/y;
	let at = 0;
	while (line.slice(at).trim()) {
		pattern.lastIndex = at;
		const found = pattern.exec(line);
		if (!found) return null;
		words.push(unquote(found[1] ?? ''));
		at = pattern.lastIndex;
	}
	return words;
}

function unquote(word: string): string {
	return word.replace(/"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/g, (_, double?: string, single?: string, escaped?: string) =>
		double !== undefined ? double.replace(/\\(["\\$`])/g, '$1') : (single ?? escaped ?? '')
	);
}
