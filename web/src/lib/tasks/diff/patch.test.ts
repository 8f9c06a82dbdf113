import { describe, expect, it } from 'vitest';
import { languageOf, parseDiff, writeComments } from './patch';

const PATCH = `diff --git a/src/a.py b/src/a.py
index 111..222 100644
--- a/src/a.py
+++ b/src/a.py
@@ -3,3 +3,3 @@ def f():
 x = 1
-y = 2
+y = 3
 z = 4
diff --git a/new.txt b/new.txt
new file mode 100644
index 000..333
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+hello
\\ No newline at end of file
diff --git a/logo.png b/logo.png
new file mode 100644
index 000..444
Binary files /dev/null and b/logo.png differ
`;

describe('parseDiff', () => {
	it('shows what cannot be seen', () => {
		const patch = '--- a/a.py\n+++ b/\u202egpj.py\n@@ -0,0 +1,2 @@\n+if admin\u202e \u2066:\n+\tx = "ü"\u200b\r\n';
		const [file] = parseDiff(patch);
		expect(file?.path).toBe('\\u{202e}gpj.py');
		expect(file?.hunks[0]?.lines.map((line) => line.text.trimEnd())).toEqual(['if admin\\u{202e} \\u{2066}:', '\tx = "ü"\\u{200b}']);
	});

	it('numbers the lines of both sides and counts what changed', () => {
		const [file, created, image] = parseDiff(PATCH);
		expect(file).toMatchObject({ path: 'src/a.py', status: 'changed', added: 1, removed: 1 });
		expect(file?.hunks[0]?.lines.map((line) => [line.kind, line.old, line.new])).toEqual([
			['same', 3, 3],
			['removed', 4, null],
			['added', null, 4],
			['same', 5, 5]
		]);
		expect(created).toMatchObject({ path: 'new.txt', status: 'added', added: 1 });
		expect(image).toMatchObject({ path: 'logo.png', status: 'binary' });
		expect(parseDiff('')).toEqual([]);
	});

	it('knows languages by the name of a file', () => {
		expect(['a/b.py', 'x.h', 'Makefile'].map(languageOf)).toEqual(['py', 'c', 'makefile']);
	});

	it('writes comments as one message', () => {
		const comment = { path: 'src/a.py', line: 4, side: 'new' as const, code: 'y = 3', text: 'Why 3?' };
		expect(writeComments([comment], 'Nearly.')).toBe('Nearly.\n\nsrc/a.py, line 4:\n> y = 3\nWhy 3?');
	});
});
