/** Diagrams. Mermaid puts labels on the page before it cleans them, so it is given none that could be markup. */
import DOMPurify from 'dompurify';
import mermaid from 'mermaid';

let count = 0;

/** A diagram's source without markup, links and settings of its own. */
export function harmless(code: string): string {
	return code
		.replace(/%%\{[\s\S]*?\}%%/g, '')
		.replace(/^---\n[\s\S]*?\n---\n/, '')
		.replace(/^\s*(click|href|link)\b.*$/gim, '')
		.replace(/<(?!br\s*\/?>)(?=[a-z!/?])/gi, '‹')
		.replace(/&(?=#|\w+;)/g, '＆');
}

/** The diagram as SVG; empty if it is malformed. */
export async function drawn(code: string, dark: boolean): Promise<string> {
	mermaid.initialize({
		startOnLoad: false,
		securityLevel: 'strict',
		suppressErrorRendering: true,
		htmlLabels: false,
		flowchart: { htmlLabels: false },
		theme: dark ? 'dark' : 'neutral'
	});
	try {
		const { svg } = await mermaid.render(`diagram-${count++}`, harmless(code));
		return DOMPurify.sanitize(svg, { USE_PROFILES: { svg: true, svgFilters: true } });
	} catch {
		return '';
	}
}
