/** Formulas in Markdown: `$…$`, `$$…$$`, `\(…\)`, `\[…\]`. Marked here, and rendered once KaTeX is loaded. */
import type { TokenizerAndRendererExtension, Tokens } from 'marked';
import { escapeHtml } from './escape';

type Rule = { start: RegExp; whole: RegExp; display: boolean };

const INLINE: Rule[] = [
	{ start: /\$\$/, whole: /^\$\$([^$]+?)\$\$/, display: true },
	// A price is not a formula: no space inside the signs, no digit after the last.
	{ start: /\$/, whole: /^\$(?!\s)((?:\\.|[^$\\\n])+?)(?<!\s)\$(?!\d)/, display: false },
	{ start: /\\\(/, whole: /^\\\(([\s\S]+?)\\\)/, display: false },
	{ start: /\\\[/, whole: /^\\\[([\s\S]+?)\\\]/, display: true }
];

function extension(rule: Rule, index: number): TokenizerAndRendererExtension {
	return {
		name: `maths${index}`,
		level: 'inline',
		start: (source) => source.search(rule.start),
		tokenizer(source) {
			const found = rule.whole.exec(source);
			return found ? { type: `maths${index}`, raw: found[0], text: found[1]?.trim() ?? '' } : undefined;
		},
		renderer: (token: Tokens.Generic) =>
			`<span class="formula" data-display="${rule.display}">${escapeHtml(String(token.text))}</span>`
	};
}

export const MATH_EXTENSIONS = INLINE.map(extension);
