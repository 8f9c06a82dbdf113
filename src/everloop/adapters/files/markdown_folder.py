"""Markdown folder on disk: safe reads and atomic writes.

Nothing outside the folder is read or written: symbolic links are not followed, and names that could
be paths are rejected. Hidden files (leading dot) are ignored.
"""

import os
import re
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.memory.browse.queries import short_id
from everloop.memory.markdown.folder import PageFile
from everloop.memory.projections.queries import Item

PAGE_SUFFIX = ".md"
LEDGER = ".everloop.json"
BYTES_MAX = 4 * 1024 * 1024
DEPTH_MAX = 8
SLUG_LENGTH = 48
PRIVATE = 0o600

_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_DASHES = re.compile("-{2,}")


class _ExportLedger(msgspec.Struct, frozen=True):
    """The items that have a page here, so that deleted pages can be detected."""

    exported: tuple[str, ...] = ()


class MarkdownFolder:
    """A folder of Markdown pages."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self) -> None:
        """Create the folder if it is missing, readable by its owner only.

        Raises:
            Invalid: there is a file of that name.
        """
        if self.path.exists() and not self.path.is_dir():
            raise Invalid(f"{self.path} is not a folder", hint="Choose a folder.")
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def pages(self) -> list[PageFile]:
        """Every page, sorted by name; an unreadable page has a `problem`.

        Raises:
            NotFound: there is no such folder.
        """
        if not self.path.is_dir():
            raise NotFound(
                f"no folder {str(self.path)!r}", hint="Give the path of a folder that exists."
            )
        return sorted(self._walk(self.path, DEPTH_MAX), key=lambda page: page.name)

    def is_unchanged(self, page: PageFile) -> bool:
        """Whether a page is unchanged since it was read."""
        return self._read(self.path / page.name) == page

    def exported_ids(self) -> tuple[str, ...]:
        """The ids of the items that pages were written for.

        Raises:
            Invalid: the ledger of the folder is damaged.
        """
        page = self._read(self.path / LEDGER) if os.path.lexists(self.path / LEDGER) else None
        if page is None:
            return ()
        try:
            return msgspec.json.decode(page.content, type=_ExportLedger).exported
        except msgspec.DecodeError as problem:
            raise Invalid(
                f"{LEDGER} in {self.path} cannot be read", hint="Delete that file and export again."
            ) from problem

    def save_exported_ids(self, item_ids: Iterable[str]) -> None:
        """Store the ids of the items that have a page here."""
        ledger = _ExportLedger(tuple(sorted(set(item_ids))))
        if ledger.exported != self.exported_ids():
            self.write(LEDGER, msgspec.json.encode(ledger).decode() + "\n")

    def write(self, name: str, content: str) -> None:
        """Write a file of this folder atomically. A symbolic link in its place is replaced."""
        write_atomically(self.path / name, content.encode())

    def _walk(self, folder: Path, depth: int) -> Iterator[PageFile]:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                if entry.name.startswith("."):
                    continue
                path = Path(entry.path)
                if entry.is_dir(follow_symlinks=False) and depth:
                    yield from self._walk(path, depth - 1)
                elif entry.name.endswith(PAGE_SUFFIX):
                    yield self._read(path)

    def _read(self, path: Path) -> PageFile:
        name = path.relative_to(self.path).as_posix()
        content, problem, hint = read_limited(path, name)
        if problem:
            return PageFile(name, problem=problem, hint=hint)
        try:
            return PageFile(name, content.decode())
        except UnicodeDecodeError as failure:
            line = content[: failure.start].count(b"\n") + 1
            return PageFile(name, problem=f"line {line}: not UTF-8", hint="Save it as UTF-8.")


def read_limited(path: Path, name: str) -> tuple[bytes, str, str]:
    """The content of a file, or a problem and a hint."""
    problem, hint = _refusal(path, name)
    if problem:
        return b"", problem, hint
    try:
        with open(path, "rb", opener=open_no_follow) as file:
            content = file.read(BYTES_MAX + 1)
    except OSError as failure:
        return b"", f"it cannot be read: {failure.strerror}", "Check the file and its permissions."
    if len(content) > BYTES_MAX:
        return b"", f"it has more than {BYTES_MAX:,} bytes", "Split it."
    return content, "", ""


def write_atomically(target: Path, content: bytes, *, mode: int = PRIVATE) -> None:
    """Write a file atomically. A symbolic link in its place is replaced."""
    handle_, waiting = tempfile.mkstemp(dir=target.parent, prefix=".everloop-")
    try:
        with os.fdopen(handle_, "wb") as file:
            file.write(content)
            file.flush()
            if mode != PRIVATE:  # mkstemp creates it so, and some file systems have no modes
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(waiting, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(waiting)
        raise


def page_name(item: Item, taken: set[str]) -> str:
    """A readable, unused file name for an item: its title, and the end of its id."""
    plain = unicodedata.normalize("NFC", item.title).casefold()
    slug = _DASHES.sub("-", _slugify(plain))[:SLUG_LENGTH].strip("-") or "untitled"
    whole = sha256(item.item_id.encode()).hexdigest()
    ends = [short_id(item.item_id)] if _SAFE_ID.fullmatch(item.item_id) else []
    for end in (*ends, whole[:8], whole):
        name = f"{slug}-{end}{PAGE_SUFFIX}"
        if name.casefold() not in taken:
            return name
    raise Invalid(f"no unused file name for {item.item_id!r}", hint="Export to an empty folder.")


def _slugify(text: str) -> str:
    """Replace all but letters, digits and their combining marks (Thai, Hindi) by dashes."""
    made = ""
    for letter in text:
        marks = made[-1:] not in {"", "-"} and unicodedata.category(letter).startswith("M")
        made += letter if letter.isalnum() or marks else "-"
    return made


def _refusal(path: Path, name: str) -> tuple[str, str]:
    """A problem and a hint if a file must not be read; else empty."""
    if not name.isprintable():
        return "its name has unprintable characters", "Rename it."
    if any(sign in name for sign in '\\:*?"<>|'):
        return "its name has characters that some systems do not allow", "Rename it."
    if path.is_symlink():
        return "it is a symbolic link", "Links are not followed: copy the file."
    if not path.is_file():
        return "it is not a file", "Move it elsewhere."
    return "", ""


def open_no_follow(path: str, flags: int) -> int:
    """An opener that does not follow symbolic links and does not block on pipes."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
