/** Syntax highlighting. Each language is loaded when code in it is first shown. */
import { createHighlighterCore, type LanguageInput } from 'shiki/core';
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript';
import githubDark from 'shiki/themes/github-dark-default.mjs';
import githubLight from 'shiki/themes/github-light-high-contrast.mjs';

const CODE_MAX = 60_000; // characters; longer code is not highlighted

/** Each language adds a file to the package, so only those common in conversations are here. */
const LANGUAGES: Record<string, () => LanguageInput> = {
	bash: () => import('@shikijs/langs/bash'),
	c: () => import('@shikijs/langs/c'),
	cpp: () => import('@shikijs/langs/cpp'),
	csharp: () => import('@shikijs/langs/csharp'),
	css: () => import('@shikijs/langs/css'),
	diff: () => import('@shikijs/langs/diff'),
	docker: () => import('@shikijs/langs/docker'),
	elixir: () => import('@shikijs/langs/elixir'),
	go: () => import('@shikijs/langs/go'),
	haskell: () => import('@shikijs/langs/haskell'),
	html: () => import('@shikijs/langs/html'),
	ini: () => import('@shikijs/langs/ini'),
	java: () => import('@shikijs/langs/java'),
	javascript: () => import('@shikijs/langs/javascript'),
	json: () => import('@shikijs/langs/json'),
	kotlin: () => import('@shikijs/langs/kotlin'),
	latex: () => import('@shikijs/langs/latex'),
	lua: () => import('@shikijs/langs/lua'),
	make: () => import('@shikijs/langs/make'),
	markdown: () => import('@shikijs/langs/markdown'),
	nix: () => import('@shikijs/langs/nix'),
	php: () => import('@shikijs/langs/php'),
	python: () => import('@shikijs/langs/python'),
	r: () => import('@shikijs/langs/r'),
	ruby: () => import('@shikijs/langs/ruby'),
	rust: () => import('@shikijs/langs/rust'),
	scala: () => import('@shikijs/langs/scala'),
	sql: () => import('@shikijs/langs/sql'),
	svelte: () => import('@shikijs/langs/svelte'),
	swift: () => import('@shikijs/langs/swift'),
	toml: () => import('@shikijs/langs/toml'),
	tsx: () => import('@shikijs/langs/tsx'),
	typescript: () => import('@shikijs/langs/typescript'),
	xml: () => import('@shikijs/langs/xml'),
	yaml: () => import('@shikijs/langs/yaml'),
	zig: () => import('@shikijs/langs/zig')
};
const ALIASES: Record<string, string> = {
	'c#': 'csharp',
	'c++': 'cpp',
	cs: 'csharp',
	dockerfile: 'docker',
	ex: 'elixir',
	golang: 'go',
	hs: 'haskell',
	js: 'javascript',
	jsonc: 'json',
	jsx: 'tsx',
	kt: 'kotlin',
	makefile: 'make',
	md: 'markdown',
	py: 'python',
	rb: 'ruby',
	rs: 'rust',
	sh: 'bash',
	shell: 'bash',
	tex: 'latex',
	ts: 'typescript',
	yml: 'yaml',
	zsh: 'bash'
};

const highlighter = createHighlighterCore({
	themes: [githubLight, githubDark],
	langs: [],
	engine: createJavaScriptRegexEngine({ forgiving: true })
});

/** The highlighted content of a code element; null if the language is unknown. */
export async function highlight(code: string, language: string): Promise<string | null> {
	const requested = language.toLowerCase();
	const name = ALIASES[requested] ?? requested;
	const load = LANGUAGES[name];
	if (!load || code.length > CODE_MAX) return null;
	const shiki = await highlighter;
	await shiki.loadLanguage(load());
	const markup = shiki.codeToHtml(code, {
		lang: name,
		themes: { light: 'github-light-high-contrast', dark: 'github-dark-default' },
		defaultColor: false,
		structure: 'inline'
	});
	return markup.replaceAll('<br>', '\n');
}
