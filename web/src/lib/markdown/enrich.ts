/** Enhances rendered Markdown: copy buttons, syntax highlighting, formulas, diagrams, footnotes. Each is loaded when first needed. */
import { copyText } from '$lib/browser/clipboard';

const COLLAPSE_LINES = 24;
const DIAGRAM = 'mermaid';
const SCALE_MIN = 0.85; // of its natural size: smaller, and the labels of a diagram cannot be read

const diagramSources = new WeakMap<HTMLElement, string>();

/** Enhance a rendered text. Safe to call again on the same element; `look` names the theme, and diagrams are drawn again when it changes. */
export function enrich(root: HTMLElement, look: string): void {
	for (const fence of root.querySelectorAll<HTMLElement>('.fence:not([data-enhanced])')) {
		fence.dataset.enhanced = '';
		addButtons(fence);
		if (fence.dataset.language === DIAGRAM) diagramSources.set(fence, fence.querySelector('code')?.textContent ?? '');
		else if (fence.dataset.language) void highlight(fence, fence.dataset.language);
	}
	for (const fence of root.querySelectorAll<HTMLElement>(`.fence[data-language=${DIAGRAM}]`)) {
		if (fence.dataset.look !== look) void drawDiagram(fence, look);
	}
	for (const link of root.querySelectorAll<HTMLAnchorElement>('a[href^="#fn-"]')) link.onclick = (event) => followFootnote(event, link);
	const formulas = root.querySelectorAll<HTMLElement>('.formula:not([data-enhanced])');
	if (formulas.length) void renderFormulas([...formulas]);
}

function addButtons(fence: HTMLElement): void {
	const code = fence.querySelector('code')?.textContent ?? '';
	const buttons = document.createElement('span');
	const lines = code.split('\n').length;
	if (lines > COLLAPSE_LINES) buttons.append(collapseButton(fence, lines));
	buttons.append(copyButton(code));
	fence.querySelector('.fence-head')?.append(buttons);
}

function button(label: string, run: (button: HTMLButtonElement) => void): HTMLButtonElement {
	const element = document.createElement('button');
	element.type = 'button';
	element.textContent = label;
	element.addEventListener('click', () => run(element));
	return element;
}

function copyButton(code: string): HTMLButtonElement {
	return button('Copy', async (element) => {
		if (!(await copyText(code))) return;
		element.textContent = 'Copied';
		setTimeout(() => (element.textContent = 'Copy'), 1_500);
	});
}

function collapseButton(fence: HTMLElement, lines: number): HTMLButtonElement {
	fence.dataset.collapsed = 'true';
	return button(`Show ${lines} lines`, (element) => {
		const collapsed = fence.dataset.collapsed !== 'true';
		fence.dataset.collapsed = String(collapsed);
		element.textContent = collapsed ? `Show ${lines} lines` : 'Show less';
	});
}

async function highlight(fence: HTMLElement, language: string): Promise<void> {
	const { highlightCode } = await import('./highlighter');
	const code = fence.querySelector('code');
	const markup = code && (await highlightCode(code.textContent ?? '', language));
	if (!code || !markup) return;
	code.innerHTML = markup;
	code.parentElement?.classList.add('shiki');
}

async function renderFormulas(formulas: HTMLElement[]): Promise<void> {
	const [{ default: katex }] = await Promise.all([import('katex'), import('katex/dist/katex.min.css')]);
	for (const formula of formulas) {
		formula.dataset.enhanced = '';
		katex.render(formula.textContent ?? '', formula, {
			displayMode: formula.dataset.display === 'true',
			throwOnError: false,
			trust: false,
			maxExpand: 200,
			maxSize: 20,
			strict: 'ignore'
		});
	}
}

/** Go to a footnote or back, without changing the address of the page. */
function followFootnote(event: MouseEvent, link: HTMLAnchorElement): void {
	event.preventDefault();
	const id = CSS.escape(decodeURIComponent(link.hash.slice(1)));
	const target = link.closest('.prose')?.querySelector<HTMLElement>(`#${id}`); // two messages may have the same text
	target?.scrollIntoView({ block: 'nearest' });
	target?.setAttribute('tabindex', '-1');
	target?.focus({ preventScroll: true });
}

async function drawDiagram(fence: HTMLElement, look: string): Promise<void> {
	fence.dataset.look = look;
	const { renderDiagram } = await import('./diagram');
	const svg = await renderDiagram(diagramSources.get(fence) ?? '', look.endsWith('-dark'));
	if (fence.dataset.look !== look) return; // the theme changed meanwhile
	if (svg) {
		const figure = document.createElement('div');
		figure.className = 'diagram p-3';
		figure.tabIndex = 0; // scrollable where it is wider than the page
		figure.role = 'figure';
		figure.dataset.look = look;
		figure.ariaLabel = 'Diagram';
		figure.innerHTML = svg;
		const image = figure.querySelector('svg');
		if (image) image.style.minWidth = `${image.viewBox.baseVal.width * SCALE_MIN}px`;
		fence.querySelector('pre, .diagram')?.replaceWith(figure);
	} else if (!fence.querySelector('.diagram-error')) {
		const note = document.createElement('p');
		note.className = 'diagram-error label px-3 pb-3';
		note.textContent = 'This diagram has a syntax error.';
		fence.append(note);
	}
}
