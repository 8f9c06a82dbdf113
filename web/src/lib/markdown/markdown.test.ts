import { describe, expect, it } from 'vitest';
import { escaped, safeAddress, settledEnd } from './markdown';

describe('addresses', () => {
	it.each(['https://example.org', 'http://a.b/c', 'mailto:a@b.c', '/memory/1', '#top'])('lets %s through', (href) => {
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
	])('refuses %s', (href) => {
		expect(safeAddress(href)).toBeNull();
	});
});

describe('text that still grows', () => {
	it('is settled up to the last whole paragraph', () => {
		expect(settledEnd('One.\n\nTwo.\n\nThr')).toBe('One.\n\nTwo.\n\n'.length);
	});
	it('is not cut inside code', () => {
		expect(settledEnd('One.\n\n```py\na = 1\n\nb = 2')).toBe('One.\n\n'.length);
	});
	it('is not cut inside a list', () => {
		expect(settledEnd('- one\n\n- two')).toBe(0);
	});
	it('does not settle what is empty', () => {
		expect(settledEnd('')).toBe(0);
	});
});

it('writes markup as text', () => {
	expect(escaped(`<a href="x">'&'</a>`)).toBe('&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;');
});
