/** Markdown as it is read aloud: without marks, addresses and code. */
export function toPlainText(markdown: string): string {
	return markdown
		.replace(/^ {0,3}(`{3,}|~{3,})[^\n]*\n[\s\S]*?(^ {0,3}\1[^\n]*$|$(?![\s\S]))/gm, ' Code is left out. ')
		.replace(/\$\$[\s\S]*?\$\$/g, ' A formula is left out. ')
		.replace(/!\[([^\]]*)\]\([^)]*\)/g, '$1')
		.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
		.replace(/<[^>\n]+>/g, '')
		.replace(/https?:\/\/\S+/g, 'a link')
		.replace(/^\s*\|?[\s:|-]*-{3,}[\s:|-]*$/gm, '')
		.replace(/^ {0,3}(#{1,6}|>|[-*+]|\d+[.)])\s+/gm, '')
		.replace(/\|/g, ', ')
		.replace(/(\*\*|__|~~|`)/g, '')
		.replace(/(^|\W)[*_](\S(?:[^*_\n]*\S)?)[*_](?=\W|$)/gm, '$1$2')
		.replace(/[ \t]+/g, ' ')
		.replace(/\s*\n\s*/g, '\n')
		.trim();
}

const PIECE_MAX = 200; // some browsers fall silent in longer ones

/** A text in pieces that end with a sentence where possible. */
export function toSentences(text: string): string[] {
	const sentences = text.match(/[^.!?。！？\n]+[.!?。！？]*["')\]]*\s*/g) ?? [];
	const pieces: string[] = [];
	for (const sentence of sentences.flatMap(splitLong)) {
		const last = pieces.at(-1);
		if (last !== undefined && last.length + sentence.length <= PIECE_MAX) pieces[pieces.length - 1] = last + sentence;
		else pieces.push(sentence);
	}
	return pieces.map((piece) => piece.trim()).filter(Boolean);
}

function splitLong(sentence: string): string[] {
	if (sentence.length <= PIECE_MAX) return [sentence];
	const words = sentence.split(/(?<=\s)/);
	const parts = [''];
	for (const word of words) {
		if ((parts.at(-1) ?? '').length + word.length > PIECE_MAX) parts.push(word);
		else parts[parts.length - 1] += word;
	}
	return parts;
}
