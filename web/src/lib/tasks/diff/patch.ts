/** Reads a patch of git into files and lines, and writes comments on lines as one message. Pure, so that it can be tested. */
import { parsePatch, type StructuredPatch } from 'diff';
import { writeOutHidden } from '$lib/format/text';

export type DiffLine = { kind: 'added' | 'removed' | 'same'; old: number | null; new: number | null; text: string };
export type Hunk = { key: string; lines: DiffLine[] };
export type FileDiff = { path: string; before: string; status: 'changed' | 'added' | 'removed' | 'renamed' | 'binary'; added: number; removed: number; hunks: Hunk[] };
export type LineComment = { path: string; line: number; side: 'old' | 'new'; code: string; text: string };

/** The files of a patch. */
export function parseDiff(text: string): FileDiff[] {
	return text.trim() ? parsePatch(text).map(toFile) : [];
}

function toFile(patch: StructuredPatch): FileDiff {
	const hunks = patch.hunks.map((hunk) => ({ key: `${hunk.oldStart}-${hunk.newStart}`, lines: toLines(hunk.lines, hunk.oldStart, hunk.newStart) }));
	const lines = hunks.flatMap((hunk) => hunk.lines);
	const [before, after] = [cleanName(patch.oldFileName), cleanName(patch.newFileName)];
	return {
		path: patch.isDelete ? before : after || before,
		before,
		status: statusOf(patch),
		added: lines.filter((line) => line.kind === 'added').length,
		removed: lines.filter((line) => line.kind === 'removed').length,
		hunks
	};
}

function statusOf(patch: StructuredPatch): FileDiff['status'] {
	if (patch.isBinary) return 'binary';
	if (patch.isCreate) return 'added';
	if (patch.isDelete) return 'removed';
	return patch.isRename ? 'renamed' : 'changed';
}

function toLines(raw: string[], oldStart: number, newStart: number): DiffLine[] {
	const lines: DiffLine[] = [];
	let [before, after] = [oldStart, newStart];
	for (const line of raw) {
		const text = writeOutHidden(line.slice(1));
		if (line.startsWith('+')) lines.push({ kind: 'added', old: null, new: after++, text });
		else if (line.startsWith('-')) lines.push({ kind: 'removed', old: before++, new: null, text });
		else if (!line.startsWith('\\')) lines.push({ kind: 'same', old: before++, new: after++, text });
	}
	return lines;
}

const cleanName = (name: string | undefined): string => writeOutHidden((name ?? '').replace(/^[ab]\//, '').replace(/^\/dev\/null$/, ''));

const LANGUAGES: Record<string, string> = { h: 'c', hpp: 'cpp', cc: 'cpp', mjs: 'js', cjs: 'js', htm: 'html', pyi: 'py', cfg: 'ini', ksh: 'sh' };

/** The language of a file, by its name. */
export function languageOf(path: string): string {
	const name = path.split('/').at(-1) ?? path;
	if (/^(Makefile|Dockerfile)$/.test(name)) return name.toLowerCase();
	const ending = name.split('.').at(-1)?.toLowerCase() ?? '';
	return LANGUAGES[ending] ?? ending;
}

/** The comments on a diff as one message to the agent. */
export function writeComments(comments: LineComment[], general: string): string {
	const parts = comments.map(({ path, line, side, code, text }) => `${path}, line ${line}${side === 'old' ? ' (removed)' : ''}:\n> ${code.trim()}\n${text.trim()}`);
	return [general.trim(), ...parts].filter(Boolean).join('\n\n');
}
