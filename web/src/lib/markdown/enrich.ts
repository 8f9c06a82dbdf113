/** Enhances rendered Markdown: copy buttons, syntax highlighting, formulas, diagrams. Each is loaded when first needed. */
import { copyText } from '$lib/browser/clipboard';

const COLLAPSE_LINES = 24;
const DIAGRAM = 'mermaid';
const SCALE_MIN = 0.85; // of its natural size: smaller, and the labels of a diagram cannot be read

/** Enhance a rendered text. Safe to call again on the same element. */
export function enrich(root: HTMLElement, dark: boolean): void {
	for (const fence of root.querySelectorAll<HTMLElement>('.fence:not([data-enhanced])')) {
		fence.dataset.enhanced = '';
		addButtons(fence);
		if (fence.dataset.language === DIAGRAM) void drawDiagram(fence, dark);
		else if (fence.dataset.language) void highlight(fence, fence.dataset.language);
	}
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

async function drawDiagram(fence: HTMLElement, dark: boolean): Promise<void> {
	const code = fence.querySelector('code')?.textContent ?? '';
	const { renderDiagram } = await import('./diagram');
	const svg = await renderDiagram(code, dark);
	if (svg) {
		const figure = document.createElement('div');
		figure.className = 'diagram p-3';
		figure.tabIndex = 0; // scrollable where it is wider than the page
		figure.role = 'figure';
		figure.ariaLabel = 'Diagram';
		figure.innerHTML = svg;
		const image = figure.querySelector('svg');
		if (image) image.style.minWidth = `${image.viewBox.baseVal.width * SCALE_MIN}px`;
		fence.querySelector('pre')?.replaceWith(figure);
	} else {
		const note = document.createElement('p');
		note.className = 'label px-3 pb-3';
		note.textContent = 'This diagram has a syntax error.';
		fence.append(note);
	}
}
