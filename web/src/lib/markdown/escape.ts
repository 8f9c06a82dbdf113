const LETTERS: Record<string, string> = {
	'&': '&amp;',
	'<': '&lt;',
	'>': '&gt;',
	'"': '&quot;',
	"'": '&#39;'
};

/** A text that no browser takes for markup. */
export function escaped(text: string): string {
	return text.replace(/[&<>"']/g, (letter) => LETTERS[letter] ?? letter);
}
