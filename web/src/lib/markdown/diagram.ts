/** Mermaid diagrams. Mermaid inserts labels into the page before sanitizing them, so markup is removed from the source first. */
import DOMPurify from 'dompurify';
import mermaid from 'mermaid';

let count = 0;

/** A colour of the theme, as Mermaid can read it: it knows neither variables nor `oklch`. */
function colour(name: string): string {
	const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
	if (!context) return '#888';
	const probe = document.createElement('span');
	probe.style.color = `var(--${name})`;
	document.body.append(probe);
	context.fillStyle = getComputedStyle(probe).color;
	probe.remove();
	context.fillRect(0, 0, 1, 1);
	const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data;
	return `#${[red, green, blue].map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

/** The colours of a diagram: those of the page now. */
function themeVariables(dark: boolean): Record<string, string | boolean> {
	const [paper, ink, wash, edge, quiet, accent] = ['paper', 'ink', 'wash', 'edge', 'quiet', 'accent-wash'].map(colour);
	return {
		darkMode: dark,
		background: paper ?? '',
		primaryColor: wash ?? '',
		primaryTextColor: ink ?? '',
		primaryBorderColor: edge ?? '',
		secondaryColor: accent ?? '',
		tertiaryColor: paper ?? '',
		lineColor: quiet ?? '',
		textColor: ink ?? '',
		titleColor: ink ?? '',
		edgeLabelBackground: paper ?? '',
		noteBkgColor: accent ?? '',
		noteTextColor: ink ?? ''
	};
}

/** The source of a diagram without markup, links and directives. */
export function sanitizeSource(code: string): string {
	return code
		.replace(/%%\{[\s\S]*?\}%%/g, '')
		.replace(/^---\n[\s\S]*?\n---\n/, '')
		.replace(/^\s*(click|href|link)\b.*$/gim, '')
		.replace(/<(?!br\s*\/?>)(?=[a-z!/?])/gi, '‹')
		.replace(/&(?=#|\w+;)/g, '＆');
}

/** Render a diagram to SVG in the colours of the page; empty if its source is invalid. */
export async function renderDiagram(code: string, dark: boolean): Promise<string> {
	mermaid.initialize({
		startOnLoad: false,
		securityLevel: 'strict',
		suppressErrorRendering: true,
		htmlLabels: false,
		flowchart: { htmlLabels: false },
		theme: 'base',
		themeVariables: themeVariables(dark)
	});
	try {
		const { svg } = await mermaid.render(`diagram-${count++}`, sanitizeSource(code));
		return DOMPurify.sanitize(svg, { USE_PROFILES: { svg: true, svgFilters: true } });
	} catch {
		return '';
	}
}
