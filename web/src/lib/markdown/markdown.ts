/**
 * Renders Markdown to safe HTML: no raw HTML but `<details>`, no scripts, no links but http, https and mailto, no remote images.
 *
 * Two layers: the renderer escapes every piece of HTML, and DOMPurify allows only a short list of tags and attributes.
 */
import DOMPurify from 'dompurify';
import { Marked, type RendererObject, type Tokens } from 'marked';
import footnotes from 'marked-footnote';
import { escapeHtml } from './escape';
import { MATH_EXTENSIONS } from './maths';
import { TextCache } from './text-cache';

const SAFE = /^(https?:|mailto:|\/(?!\/)|#)/i;

/** The address if it is safe to follow, else null. Control characters and spaces are removed first. */
export function safeAddress(href: string): string | null {
	// eslint-disable-next-line no-control-regex -- these are the characters to remove
	const plain = href.replace(/[\u0000-\u0020\u007f-\u009f\u200b-\u200f\u2028-\u202e]/g, '');
	return SAFE.test(plain) ? plain : null;
}

/** The only HTML that is kept: these tags without attributes, after everything was escaped. */
const DETAILS_TAG = /&lt;(\/?(?:details|summary)|details open)&gt;/gi;
/** Only in attributes that the footnote extension writes: quotes in the text are escaped. */
const FOOTNOTE_ID = /((?:id="|href="#))footnote-/g;

const renderer: RendererObject = {
	html: ({ text }: Tokens.HTML | Tokens.Tag) => escapeHtml(text).replace(DETAILS_TAG, '<$1>'),
	link({ href, title, tokens }: Tokens.Link) {
		const label = this.parser.parseInline(tokens);
		const address = safeAddress(href);
		if (!address) return label;
		const external = /^https?:/i.test(address) ? ' target="_blank" rel="noopener noreferrer nofollow"' : '';
		return `<a href="${escapeHtml(address)}"${title ? ` title="${escapeHtml(title)}"` : ''}${external}>${label}</a>`;
	},
	image: ({ text, href }: Tokens.Image) =>
		`<span class="image" title="${escapeHtml(href)}">[image: ${escapeHtml(text || 'no description')}]</span>`,
	code({ text, lang }: Tokens.Code) {
		const language = (lang ?? '').split(/\s/)[0]?.replace(/[^\w+#-]/g, '') ?? '';
		return (
			`<div class="fence" data-language="${escapeHtml(language)}"><div class="fence-head"><span>${escapeHtml(language || 'text')}</span></div>` +
			`<pre tabindex="0"><code>${escapeHtml(text)}</code></pre></div>`
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

const marked = new Marked({ gfm: true, breaks: true, async: false, renderer, extensions: MATH_EXTENSIONS }, footnotes());

const ALLOWED = {
	ALLOWED_TAGS: (
		'a b blockquote br code del details div em h1 h2 h3 h4 h5 h6 hr i li ol p pre s section span strong sub summary sup table tbody td th thead tr ul'
	).split(' '),
	ALLOWED_ATTR: 'align aria-label class data-display data-language href id open rel role start tabindex target title'.split(' '),
	ALLOWED_URI_REGEXP: SAFE,
	// These are not addresses, so their values are not checked as such.
	ADD_URI_SAFE_ATTR: 'align aria-label data-display data-language id open rel role start tabindex target'.split(' '),
	ALLOW_DATA_ATTR: false,
	ALLOW_ARIA_ATTR: false
};

const CACHED_CHARACTERS = 2_000_000;
const cache = new TextCache<string>(CACHED_CHARACTERS);

/** Render Markdown to safe HTML. Results are cached, because rows are rendered again on scrolling. */
export function renderMarkdown(text: string): string {
	return cache.get(text, () => renderUncached(text));
}

/** The same without the cache, for a text that is still streaming in. */
export function renderUncached(text: string): string {
	const html = (marked.parse(text) as string).replace(FOOTNOTE_ID, `$1fn-${hash(text)}-`);
	return DOMPurify.sanitize(html, ALLOWED);
}

/** A short hash, so that the footnotes of two messages have different ids. */
function hash(text: string): string {
	let sum = 0;
	for (let index = 0; index < text.length; index += 1) sum = (Math.imul(sum, 31) + text.charCodeAt(index)) | 0;
	return (sum >>> 0).toString(36);
}
