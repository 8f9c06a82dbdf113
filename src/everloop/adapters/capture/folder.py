"""Sources on this machine: found, read, and watched.

A source is named by a digest of its path; the path itself goes nowhere. Nothing is kept beside the
log: what was taken in and how far a file was read is there, so a watcher may stop at any moment.
One bad file or line is reported and does not hold up the others.
"""

import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from threading import Event as Stop
from typing import Final

import msgspec

from everloop.adapters.capture import notes
from everloop.adapters.capture.tail import Line, next_piece
from everloop.adapters.capture.transcript import Spoken, entries, spoken
from everloop.adapters.files.markdown_folder import read_whole
from everloop.errors import Invalid, NotFound, Rejected, Unavailable
from everloop.lessons.capture.entries import (
    AUTO_MEMORY,
    JSONL,
    LEARNINGS,
    TRANSCRIPT,
    Entry,
    Mark,
    Origin,
    Trouble,
    project_scope,
    shortened,
)
from everloop.lessons.capture.service import Catcher, Report
from everloop.lessons.capture.settings import CaptureSettings
from everloop.memory.model.scopes import check_scope

DEPTH_MAX: Final = 8
FIRST_BYTES: Final = 65_536  # enough to see what a file holds
CLAUDE_PAGES: Final = ("CLAUDE.md", "CLAUDE.local.md")
SKIPPED: Final = ("node_modules", "__pycache__", "subagents", "build", "dist")
SHOWN: Final = (".claude",)  # hidden folders that are looked into

Signature = tuple[int, int, int]  # inode, size, time of change
Told = Callable[[Report], object]


class _Given(msgspec.Struct):
    """A line of a JSON lines file that puts a lesson forward."""

    description: str
    body: str = ""
    scope: str = ""
    id: str = ""
    quote: str = ""


class CaptureFolder:
    """A file, or a folder with all that is below it."""

    def __init__(
        self, root: Path, catcher: Catcher, limits: CaptureSettings, *, scope: str = ""
    ) -> None:
        self.root = root
        self._catcher = catcher
        self._limits = limits
        self._scope = check_scope(scope) if scope else ""
        self._seen: dict[Path, Signature] = {}
        self._marks: dict[Path, Mark] = {}

    def read(self) -> Report:
        """Take in what is new since the last time.

        Raises:
            NotFound: there is nothing at this place.
        """
        if not self.root.exists():
            raise NotFound(f"there is nothing at {self.root}", hint="Name a file or a folder.")
        report = Report()
        for path in _below(self.root, DEPTH_MAX):
            report += self._file(path)
        return report

    def watch(self, stop: Stop, told: Told) -> None:
        """Take in what comes, until stopped. A failure is told, and tried again at the next look.

        Raises:
            Corrupt: the log contradicts itself.
        """
        failed = ""
        while not stop.is_set():
            try:
                report, failed = self.read(), ""
            except (Rejected, Unavailable, OSError) as problem:
                report = Report(troubles=(_trouble(self.root.name, problem),))
                report, failed = (Report() if str(problem) == failed else report), str(problem)
            if report != Report():
                told(report)
            stop.wait(self._limits.poll_s)

    def _file(self, path: Path) -> Report:
        """What is new in a file. One that did not change is not opened."""
        try:
            signature = _signature(path)
            if self._seen.get(path) == signature:
                return Report()
            report = self._taken(path)
        except (Rejected, OSError) as problem:
            report = Report(troubles=(_trouble(path.name, problem),))
            signature = _signature(path) if path.exists() else (0, 0, 0)
        self._seen[path] = signature
        return report

    def _taken(self, path: Path) -> Report:
        if path.suffix == ".jsonl":
            return self._lines(path)
        content, problem, hint = read_whole(path, path.name)
        if problem:
            return Report(troubles=(Trouble(path.name, problem, hint),))
        return self._page(path, notes.decoded(content))

    def _page(self, path: Path, page: str) -> Report:
        kind = LEARNINGS if path.name.lower() == "learnings.md" else AUTO_MEMORY
        scope = self._scope or _scope_of(path)
        if kind == LEARNINGS:
            found = notes.learned(page, scope=scope)
        elif path.name in CLAUDE_PAGES:
            found = notes.listed(page, scope=scope)
        else:
            found = notes.guidance(page, name=path.name, scope=scope)
        report = self._catcher.take_page(_origin(path, kind), found[: self._limits.entries_max])
        if len(found) > self._limits.entries_max:
            problem = f"only {self._limits.entries_max:,} of its {len(found):,} entries were taken"
            report += Report(troubles=(Trouble(path.name, problem, "Split the file."),))
        return report

    # -- growing files -----------------------------------------------------------------------------

    def _lines(self, path: Path) -> Report:
        """Read a growing file from where it was left, piece by piece, to its end."""
        kind = _kind_of(path, self._limits)
        origin = _origin(path, kind)
        noted = self._catcher.source(origin).mark
        mark = self._marks.get(path, noted)
        report = Report()
        while True:
            piece = next_piece(path, mark, self._limits)
            said, troubles = self._entries(kind, path.name, piece.lines)
            report += Report(troubles=(*piece.troubles, *troubles))
            taken = self._catcher.take_piece(origin, said, piece.mark)
            report += taken
            mark = self._marks[path] = piece.mark
            noted = mark if taken.caught else self._noted(origin, noted, mark)
            if not piece.more:
                return report

    def _noted(self, origin: Origin, noted: Mark, mark: Mark) -> Mark:
        """Note how far it was read, once enough was read since."""
        if 0 <= mark.offset - noted.offset < self._limits.checkpoint_bytes:
            return noted
        self._catcher.note(origin, mark)
        return mark

    def _entries(
        self, kind: str, name: str, lines: tuple[Line, ...]
    ) -> tuple[list[Entry], list[Trouble]]:
        troubles: list[Trouble] = []
        said: list[Spoken] = []
        given: list[Entry] = []
        for line in lines:
            try:
                if kind == JSONL:
                    given.append(_given(line.content, self._scope))
                elif one := spoken(line.content):
                    said.append(one)
            except Invalid as problem:
                troubles.append(Trouble(name, f"at byte {line.offset:,}: {problem}", problem.hint))
        most = self._limits.message_characters_max
        return [*given, *entries(said, scope=self._scope, characters_max=most)], troubles


def _below(root: Path, depth: int) -> Iterator[Path]:
    """The sources at a place, in order. Links are not followed."""
    if not root.is_dir():
        yield root
        return
    with os.scandir(root) as listing:
        found = sorted(listing, key=lambda entry: entry.name)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            hidden = entry.name.startswith(".") and entry.name not in SHOWN
            if depth and not hidden and entry.name not in SKIPPED:
                yield from _below(Path(entry.path), depth - 1)
        elif entry.is_file(follow_symlinks=False) and _is_source(Path(entry.path)):
            yield Path(entry.path)


def _is_source(path: Path) -> bool:
    if path.suffix == ".jsonl":
        return not path.name.startswith("agent-")  # those are sub-agents'
    named = path.name in CLAUDE_PAGES or path.name.lower() == "learnings.md"
    return named or (path.suffix == ".md" and path.parent.name == "memory")


def _kind_of(path: Path, limits: CaptureSettings) -> str:
    """What a file of JSON lines holds: its first line tells."""
    small = msgspec.structs.replace(limits, piece_bytes=FIRST_BYTES)
    first = next(iter(next_piece(path, Mark(), small).lines), None)
    try:
        fields = msgspec.json.decode(first.content, type=dict[str, msgspec.Raw]) if first else {}
    except (msgspec.MsgspecError, ValueError, RecursionError):
        fields = {}
    return JSONL if "description" in fields and "sessionId" not in fields else TRANSCRIPT


def _given(line: bytes, scope: str) -> Entry:
    try:
        given = msgspec.json.decode(line, type=_Given)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        raise Invalid(f"it cannot be read: {problem}", hint="It was passed over.") from problem
    return Entry(
        key=given.id,
        description=shortened(given.description),
        body=given.body or given.description,
        scope=scope or check_scope(given.scope or "user"),
        quote=given.quote,
    )


def _scope_of(path: Path) -> str:
    """Whom a page is for: its project, or the user if it lies in their own settings."""
    folder = path.parent
    if folder.name == "memory":
        return project_scope(_project_of(folder.parent))
    if folder.name == ".claude":
        return "user" if folder.parent == Path.home() else project_scope(folder.parent.name)
    return project_scope(folder.name)


def _project_of(folder: Path) -> str:
    """The project that a host's folder is about: its transcripts say; else the folder's name."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in next_piece(path, Mark(), CaptureSettings()).lines:
            try:
                said = spoken(line.content)
            except Invalid:
                continue
            if said is not None and said.folder:
                return said.folder
    return folder.name.lstrip("-")


def _origin(path: Path, kind: str) -> Origin:
    place = sha256(str(path.absolute()).encode("utf-8", "surrogateescape")).hexdigest()
    name = path.name.encode("utf-8", "replace").decode()
    return Origin(place[:32], kind, name)


def _signature(path: Path) -> Signature:
    found = path.stat(follow_symlinks=False)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _trouble(name: str, problem: Exception) -> Trouble:
    if isinstance(problem, OSError):
        return Trouble(name, f"it cannot be read: {problem.strerror}", "Mend that; it is retried.")
    return Trouble(name, str(problem), getattr(problem, "hint", ""))
