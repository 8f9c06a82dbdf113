/** What a text gets once it stands on the page: buttons on code, colours, formulas, diagrams. Each comes when it is first needed. */
import { copy } from '$lib/browser/clipboard';

const FOLD_LINES = 24;
const DIAGRAM = 'mermaid';
const READABLE = 0.85; // of its size: smaller, and a diagram's words cannot be read

/** Give a rendered text its extras. Safe to call again on the same element. */
export function enrich(root: HTMLElement, dark: boolean): void {
	for (const fence of root.querySelectorAll<HTMLElement>('.fence:not([data-dressed])')) {
		fence.dataset.dressed = '';
		dress(fence);
		if (fence.dataset.language === DIAGRAM) void draw(fence, dark);
		else if (fence.dataset.language) void colour(fence, fence.dataset.language);
	}
	const formulas = root.querySelectorAll<HTMLElement>('.formula:not([data-dressed])');
	if (formulas.length) void set([...formulas]);
}

function dress(fence: HTMLElement): void {
	const code = fence.querySelector('code')?.textContent ?? '';
	const acts = document.createElement('span');
	const lines = code.split('\n').length;
	if (lines > FOLD_LINES) acts.append(folding(fence, lines));
	acts.append(copying(code));
	fence.querySelector('.fence-head')?.append(acts);
}

function button(label: string, does: (button: HTMLButtonElement) => void): HTMLButtonElement {
	const made = document.createElement('button');
	made.type = 'button';
	made.textContent = label;
	made.addEventListener('click', () => does(made));
	return made;
}

function copying(code: string): HTMLButtonElement {
	return button('Copy', async (made) => {
		if (!(await copy(code))) return;
		made.textContent = 'Copied';
		setTimeout(() => (made.textContent = 'Copy'), 1_500);
	});
}

function folding(fence: HTMLElement, lines: number): HTMLButtonElement {
	fence.dataset.folded = 'true';
	return button(`Show ${lines} lines`, (made) => {
		const folded = fence.dataset.folded !== 'true';
		fence.dataset.folded = String(folded);
		made.textContent = folded ? `Show ${lines} lines` : 'Fold';
	});
}

async function colour(fence: HTMLElement, language: string): Promise<void> {
	const { coloured } = await import('./highlighter');
	const code = fence.querySelector('code');
	const markup = code && (await coloured(code.textContent ?? '', language));
	if (!code || !markup) return;
	code.innerHTML = markup;
	code.parentElement?.classList.add('shiki');
}

async function set(formulas: HTMLElement[]): Promise<void> {
	const [{ default: katex }] = await Promise.all([import('katex'), import('katex/dist/katex.min.css')]);
	for (const formula of formulas) {
		formula.dataset.dressed = '';
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

async function draw(fence: HTMLElement, dark: boolean): Promise<void> {
	const code = fence.querySelector('code')?.textContent ?? '';
	const { drawn } = await import('./diagram');
	const svg = await drawn(code, dark);
	if (svg) {
		const figure = document.createElement('div');
		figure.className = 'diagram p-3';
		figure.tabIndex = 0; // it scrolls where it is wider than the page
		figure.role = 'figure';
		figure.ariaLabel = 'Diagram';
		figure.innerHTML = svg;
		const picture = figure.querySelector('svg');
		if (picture) picture.style.minWidth = `${picture.viewBox.baseVal.width * READABLE}px`;
		fence.querySelector('pre')?.replaceWith(figure);
	} else {
		const note = document.createElement('p');
		note.className = 'label px-3 pb-3';
		note.textContent = 'This diagram cannot be drawn: it is malformed.';
		fence.append(note);
	}
}
