/**
 * Markdown as HTML that cannot do anything: no raw HTML, no scripts, no address but http, https and mailto, no picture from elsewhere.
 *
 * Two walls: the renderer writes text for every piece of HTML it meets, and DOMPurify lets only what a text needs through.
 */
import DOMPurify from 'dompurify';
import { Marked, type RendererObject, type Tokens } from 'marked';
import { escaped } from './escape';
import { Kept } from './text-cache';
import { MATHS } from './maths';

const SAFE = /^(https?:|mailto:|\/(?!\/)|#)/i;

/** An address that may be followed, or null. Control characters and spaces hide nothing. */
export function safeAddress(href: string): string | null {
	// eslint-disable-next-line no-control-regex -- they are what is taken out
	const plain = href.replace(/[\u0000-\u0020\u007f-\u009f\u200b-\u200f\u2028-\u202e]/g, '');
	return SAFE.test(plain) ? plain : null;
}

const renderer: RendererObject = {
	html: ({ text }: Tokens.HTML | Tokens.Tag) => escaped(text),
	link({ href, title, tokens }: Tokens.Link) {
		const words = this.parser.parseInline(tokens);
		const address = safeAddress(href);
		if (!address) return words;
		const away = /^https?:/i.test(address) ? ' target="_blank" rel="noopener noreferrer nofollow"' : '';
		return `<a href="${escaped(address)}"${title ? ` title="${escaped(title)}"` : ''}${away}>${words}</a>`;
	},
	image: ({ text, href }: Tokens.Image) =>
		`<span class="picture" title="${escaped(href)}">[picture: ${escaped(text || 'without a name')}]</span>`,
	code({ text, lang }: Tokens.Code) {
		const language = (lang ?? '').split(/\s/)[0]?.replace(/[^\w+#-]/g, '') ?? '';
		return (
			`<div class="fence" data-language="${escaped(language)}"><div class="fence-head"><span>${escaped(language || 'text')}</span></div>` +
			`<pre tabindex="0"><code>${escaped(text)}</code></pre></div>`
		);
	},
	table(token: Tokens.Table) {
		const cell = (one: Tokens.TableCell, tag: string) =>
			`<${tag}${one.align ? ` align="${one.align}"` : ''}>${this.parser.parseInline(one.tokens)}</${tag}>`;
		const head = token.header.map((one) => cell(one, 'th')).join('');
		const rows = token.rows.map((row) => `<tr>${row.map((one) => cell(one, 'td')).join('')}</tr>`);
		return `<div class="table" tabindex="0" role="region" aria-label="Table"><table><thead><tr>${head}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
	},
	listitem({ task, tokens }: Tokens.ListItem) {
		return `<li${task ? ' class="task"' : ''}>${this.parser.parse(tokens)}</li>`;
	},
	checkbox: ({ checked }: Tokens.Checkbox) => (checked ? '☑ ' : '☐ ')
};

const marked = new Marked({ gfm: true, breaks: true, async: false, renderer, extensions: MATHS });

const ALLOWED = {
	ALLOWED_TAGS: (
		'a b blockquote br code del div em h1 h2 h3 h4 h5 h6 hr i li ol p pre s span strong sub sup table tbody td th thead tr ul'
	).split(' '),
	ALLOWED_ATTR: 'align aria-label class data-display data-language href rel role start tabindex target title'.split(' '),
	ALLOWED_URI_REGEXP: SAFE,
	// These hold no address: their values are not measured as one.
	ADD_URI_SAFE_ATTR: 'align aria-label data-display data-language rel role start tabindex target'.split(' '),
	ALLOW_DATA_ATTR: false,
	ALLOW_ARIA_ATTR: false
};

const KEPT_LETTERS = 2_000_000;
const kept = new Kept<string>(KEPT_LETTERS);

/** Markdown as HTML that may stand on the page. What was set lately is kept: rows come and go as one scrolls. */
export function html(text: string): string {
	return kept.of(text, () => fresh(text));
}

/** The same for a text that will be another in a moment: it is not kept. */
export function fresh(text: string): string {
	return DOMPurify.sanitize(marked.parse(text) as string, ALLOWED);
}
