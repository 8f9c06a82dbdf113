import { describe, expect, it } from 'vitest';
import { escapeHtml } from './escape';
import { safeAddress } from './markdown';

describe('safe addresses', () => {
	it.each(['https://example.org', 'http://a.b/c', 'mailto:a@b.c', '/memory/1', '#top'])('allows %s', (href) => {
		expect(safeAddress(href)).toBe(href);
	});
	it.each([
		'javascript:alert(1)',
		'JaVaScRiPt:alert(1)',
		' java\nscript:alert(1)',
		'\u0001javascript:alert(1)',
		'data:text/html,<script>alert(1)</script>',
		'vbscript:x',
		'//evil.example',
		'file:///etc/passwd',
		'blob:x'
	])('rejects %s', (href) => {
		expect(safeAddress(href)).toBeNull();
	});
});

it('escapes HTML', () => {
	expect(escapeHtml(`<a href="x">'&'</a>`)).toBe('&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;');
});
