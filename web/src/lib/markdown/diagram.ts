/** Mermaid diagrams. Mermaid inserts labels into the page before sanitizing them, so markup is removed from the source first. */
import DOMPurify from 'dompurify';
import mermaid from 'mermaid';

let count = 0;

/** The source of a diagram without markup, links and directives. */
export function sanitizeSource(code: string): string {
	return code
		.replace(/%%\{[\s\S]*?\}%%/g, '')
		.replace(/^---\n[\s\S]*?\n---\n/, '')
		.replace(/^\s*(click|href|link)\b.*$/gim, '')
		.replace(/<(?!br\s*\/?>)(?=[a-z!/?])/gi, '‹')
		.replace(/&(?=#|\w+;)/g, '＆');
}

/** Render a diagram to SVG; empty if its source is invalid. */
export async function renderDiagram(code: string, dark: boolean): Promise<string> {
	mermaid.initialize({
		startOnLoad: false,
		securityLevel: 'strict',
		suppressErrorRendering: true,
		htmlLabels: false,
		flowchart: { htmlLabels: false },
		theme: dark ? 'dark' : 'neutral'
	});
	try {
		const { svg } = await mermaid.render(`diagram-${count++}`, sanitizeSource(code));
		return DOMPurify.sanitize(svg, { USE_PROFILES: { svg: true, svgFilters: true } });
	} catch {
		return '';
	}
}
