"""Capture from a folder: finds, reads and watches notes and transcripts on this machine.

A source is named by a digest of its path; the path itself is not recorded. There is no state
outside of the log: entries and read offsets are recorded there, so a watcher may stop at any time.
A bad file or line is reported and does not block the others.
"""

import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from threading import Event as Stop
from typing import Final

import msgspec

from everloop.adapters.capture import notes
from everloop.adapters.capture.tail import TailLine, read_next_chunk
from everloop.adapters.capture.transcript import (
    TranscriptMessage,
    correction_entries,
    parse_transcript_line,
)
from everloop.adapters.files.markdown_folder import read_limited
from everloop.errors import Invalid, NotFound, Rejected, Unavailable
from everloop.lessons.capture.entries import (
    AUTO_MEMORY,
    JSONL,
    LEARNINGS,
    TRANSCRIPT,
    CaptureEntry,
    CaptureProblem,
    CaptureSource,
    ReadOffset,
    project_scope,
    truncate_first_line,
)
from everloop.lessons.capture.service import CaptureReport, CaptureService
from everloop.lessons.capture.settings import CaptureSettings
from everloop.memory.model.scopes import check_scope

DEPTH_MAX: Final = 8
FIRST_BYTES: Final = 65_536  # enough to detect the format of a file
CLAUDE_PAGES: Final = ("CLAUDE.md", "CLAUDE.local.md")
SKIPPED: Final = ("node_modules", "__pycache__", "subagents", "build", "dist")
SHOWN: Final = (".claude",)  # hidden folders that are searched all the same

Signature = tuple[int, int, int]  # inode, size, time of change
OnReport = Callable[[CaptureReport], object]


class _LessonLine(msgspec.Struct):
    """A line of a JSON Lines file that proposes a lesson."""

    description: str
    body: str = ""
    scope: str = ""
    id: str = ""
    quote: str = ""


class CaptureFolder:
    """A file, or a folder with everything below it, as a source of lessons."""

    def __init__(
        self, root: Path, catcher: CaptureService, limits: CaptureSettings, *, scope: str = ""
    ) -> None:
        self.root = root
        self._catcher = catcher
        self._limits = limits
        self._scope = check_scope(scope) if scope else ""
        self._seen: dict[Path, Signature] = {}
        self._marks: dict[Path, ReadOffset] = {}

    def read(self) -> CaptureReport:
        """Capture what is new since the last time.

        Raises:
            NotFound: the path does not exist.
        """
        if not self.root.exists():
            raise NotFound(
                f"no file or folder {self.root}", hint="Give the path of a file or a folder."
            )
        report = CaptureReport()
        for path in _walk(self.root, DEPTH_MAX):
            report += self._capture_if_changed(path)
        return report

    def watch(self, stop: Stop, told: OnReport) -> None:
        """Poll and capture until stopped. A failure is reported once, and retried at each poll.

        Raises:
            Corrupt: the log contradicts itself.
        """
        failed = ""
        while not stop.is_set():
            try:
                report, failed = self.read(), ""
            except (Rejected, Unavailable, OSError) as problem:
                report = CaptureReport(troubles=(_trouble(self.root.name, problem),))
                report, failed = (
                    (CaptureReport() if str(problem) == failed else report),
                    str(problem),
                )
            if report != CaptureReport():
                told(report)
            stop.wait(self._limits.poll_s)

    def _capture_if_changed(self, path: Path) -> CaptureReport:
        """Capture what is new in a file. An unchanged file is not opened."""
        try:
            signature = _signature(path)
            if self._seen.get(path) == signature:
                return CaptureReport()
            report = self._capture(path)
        except (Rejected, OSError) as problem:
            report = CaptureReport(troubles=(_trouble(path.name, problem),))
            signature = _signature(path) if path.exists() else (0, 0, 0)
        self._seen[path] = signature
        return report

    def _capture(self, path: Path) -> CaptureReport:
        if path.suffix == ".jsonl":
            return self._capture_lines(path)
        content, problem, hint = read_limited(path, path.name)
        if problem:
            return CaptureReport(troubles=(CaptureProblem(path.name, problem, hint),))
        return self._capture_page(path, notes.decode_page(content))

    def _capture_page(self, path: Path, page: str) -> CaptureReport:
        kind = LEARNINGS if path.name.lower() == "learnings.md" else AUTO_MEMORY
        scope = self._scope or _scope_of(path)
        if kind == LEARNINGS:
            found = notes.learnings_entries(page, scope=scope)
        elif path.name in CLAUDE_PAGES:
            found = notes.list_item_entries(page, scope=scope)
        else:
            found = notes.guidance_entries(page, name=path.name, scope=scope)
        report = self._catcher.propose_page(_origin(path, kind), found[: self._limits.entries_max])
        if len(found) > self._limits.entries_max:
            problem = (
                f"only {self._limits.entries_max:,} of its {len(found):,} entries were captured"
            )
            report += CaptureReport(
                troubles=(CaptureProblem(path.name, problem, "Split the file."),)
            )
        return report

    # -- growing files -----------------------------------------------------------------------------

    def _capture_lines(self, path: Path) -> CaptureReport:
        """Read a growing file from its last offset to its end, in chunks."""
        kind = _detect_format(path, self._limits)
        origin = _origin(path, kind)
        noted = self._catcher.source(origin).mark
        mark = self._marks.get(path, noted)
        report = CaptureReport()
        while True:
            piece = read_next_chunk(path, mark, self._limits)
            said, troubles = self._parse_lines(kind, path.name, piece.lines)
            report += CaptureReport(troubles=(*piece.troubles, *troubles))
            taken = self._catcher.propose_piece(origin, said, piece.mark)
            report += taken
            mark = self._marks[path] = piece.mark
            noted = mark if taken.caught else self._checkpoint(origin, noted, mark)
            if not piece.more:
                return report

    def _checkpoint(self, origin: CaptureSource, noted: ReadOffset, mark: ReadOffset) -> ReadOffset:
        """Record a checkpoint of the read offset, once enough was read since the last."""
        if 0 <= mark.offset - noted.offset < self._limits.checkpoint_bytes:
            return noted
        self._catcher.record_offset(origin, mark)
        return mark

    def _parse_lines(
        self, kind: str, name: str, lines: tuple[TailLine, ...]
    ) -> tuple[list[CaptureEntry], list[CaptureProblem]]:
        troubles: list[CaptureProblem] = []
        said: list[TranscriptMessage] = []
        given: list[CaptureEntry] = []
        for line in lines:
            try:
                if kind == JSONL:
                    given.append(_parse_lesson_line(line.content, self._scope))
                elif one := parse_transcript_line(line.content):
                    said.append(one)
            except Invalid as problem:
                troubles.append(
                    CaptureProblem(name, f"at byte {line.offset:,}: {problem}", problem.hint)
                )
        most = self._limits.message_characters_max
        return [*given, *correction_entries(said, scope=self._scope, characters_max=most)], troubles


def _walk(root: Path, depth: int) -> Iterator[Path]:
    """The sources below a path, sorted. Symbolic links are not followed."""
    if not root.is_dir():
        yield root
        return
    with os.scandir(root) as listing:
        found = sorted(listing, key=lambda entry: entry.name)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            hidden = entry.name.startswith(".") and entry.name not in SHOWN
            if depth and not hidden and entry.name not in SKIPPED:
                yield from _walk(Path(entry.path), depth - 1)
        elif entry.is_file(follow_symlinks=False) and _is_source(Path(entry.path)):
            yield Path(entry.path)


def _is_source(path: Path) -> bool:
    if path.suffix == ".jsonl":
        return not path.name.startswith("agent-")  # transcripts of sub-agents
    named = path.name in CLAUDE_PAGES or path.name.lower() == "learnings.md"
    return named or (path.suffix == ".md" and path.parent.name == "memory")


def _detect_format(path: Path, limits: CaptureSettings) -> str:
    """Detect the format of a JSON Lines file from its first line."""
    small = msgspec.structs.replace(limits, piece_bytes=FIRST_BYTES)
    first = next(iter(read_next_chunk(path, ReadOffset(), small).lines), None)
    try:
        fields = msgspec.json.decode(first.content, type=dict[str, msgspec.Raw]) if first else {}
    except (msgspec.MsgspecError, ValueError, RecursionError):
        fields = {}
    return JSONL if "description" in fields and "sessionId" not in fields else TRANSCRIPT


def _parse_lesson_line(line: bytes, scope: str) -> CaptureEntry:
    try:
        given = msgspec.json.decode(line, type=_LessonLine)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        raise Invalid(f"not readable: {problem}", hint="It was skipped.") from problem
    return CaptureEntry(
        key=given.id,
        description=truncate_first_line(given.description),
        body=given.body or given.description,
        scope=scope or check_scope(given.scope or "user"),
        quote=given.quote,
    )


def _scope_of(path: Path) -> str:
    """The scope of a page: its project, or the user if it is in their own settings."""
    folder = path.parent
    if folder.name == "memory":
        return project_scope(_project_of(folder.parent))
    if folder.name == ".claude":
        return "user" if folder.parent == Path.home() else project_scope(folder.parent.name)
    return project_scope(folder.name)


def _project_of(folder: Path) -> str:
    """The project of a host's folder, from its transcripts, or else the folder's name."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in read_next_chunk(path, ReadOffset(), CaptureSettings()).lines:
            try:
                said = parse_transcript_line(line.content)
            except Invalid:
                continue
            if said is not None and said.folder:
                return said.folder
    return folder.name.lstrip("-")


def _origin(path: Path, kind: str) -> CaptureSource:
    place = sha256(str(path.absolute()).encode("utf-8", "surrogateescape")).hexdigest()
    name = path.name.encode("utf-8", "replace").decode()
    return CaptureSource(place[:32], kind, name)


def _signature(path: Path) -> Signature:
    found = path.stat(follow_symlinks=False)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _trouble(name: str, problem: Exception) -> CaptureProblem:
    if isinstance(problem, OSError):
        return CaptureProblem(
            name, f"not readable: {problem.strerror}", "It is retried; check the file."
        )
    return CaptureProblem(name, str(problem), getattr(problem, "hint", ""))
