"""Reads packs from a folder or a JSON file, and writes skills as folders.

The folder of a pack has `lessons/*.md`, `personas/*.md`, `teams/*.md`, and a `SKILL.md` in the
folder of each skill, at any depth; `pack.json` may set the pack's id. An unreadable file is
reported, and the others are read. Symbolic links are not followed, hidden files are ignored.
"""

import base64
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, cast

import msgspec

from everloop.adapters.files.front_matter import FrontMatter, new_front_matter, split_front_matter
from everloop.adapters.files.markdown_folder import (
    PRIVATE,
    MarkdownFolder,
    read_limited,
    write_atomically,
)
from everloop.errors import Invalid, NotFound, Rejected
from everloop.lessons.crew.events import Skill, SkillFile
from everloop.lessons.crew.fields import normalise_names
from everloop.lessons.crew.pack import Pack, PackEntry, PackEntrySort
from everloop.lessons.crew.skill_page import front_matter_fields, parse_skill
from everloop.lessons.crew.validation import SKILL_FILE, check_name
from everloop.memory.markdown.folder import PageFile, PageProblem

ABOUT: Final = "pack.json"
SHELVES: Final[dict[str, PackEntrySort]] = {
    "lessons": "lesson",
    "skills": "skill",
    "personas": "persona",
    "teams": "team",
}
FILES_MAX: Final = 200  # files of one skill


class _PackFile(msgspec.Struct, frozen=True):
    id: str = ""


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pack as one JSON document. Its entries are validated one by one."""

    id: str
    lessons: list[Any] = []
    skills: list[Any] = []
    personas: list[Any] = []
    teams: list[Any] = []


def read_pack(path: Path) -> Pack:
    """Read a pack from a folder or a JSON file.

    Raises:
        NotFound: there is no such file or folder.
        Invalid: it is not a pack.
    """
    if path.is_dir():
        pack = read_pack_folder(path)
        pack_id = _read_pack_file(path).id or path.resolve().name.casefold()
        return msgspec.structs.replace(pack, pack_id=check_name(pack_id))
    if not path.is_file():
        raise NotFound(f"no pack at {path}", hint="Give the path of a folder or a JSON file.")
    document = _read_json(path, _Document)
    offers: list[PackEntry] = []
    troubles: list[PageProblem] = []
    for shelf, sort in SHELVES.items():
        for number, fields in enumerate(getattr(document, shelf)):
            source = f"{shelf}[{number}]"
            if isinstance(fields, dict):
                offers.append(PackEntry(sort, source, cast("dict[str, Any]", fields)))
            else:
                troubles.append(
                    PageProblem(source, "it is not a JSON object", "Write its fields in braces.")
                )
    return Pack(check_name(document.id), tuple(offers), tuple(troubles))


def read_pack_folder(path: Path) -> Pack:
    """Read the pages of a folder, with problems; the result has no pack id yet.

    Raises:
        NotFound: there is no such folder.
    """
    pages = MarkdownFolder(path).pages()
    homes = _skill_folders(pages)
    offers: list[PackEntry] = []
    troubles = [*_report_links(path), *_report_links(path / "skills")]
    for page in pages:
        sort = _page_kind(page.name, homes)
        if sort is None:
            continue
        try:
            offers.append(_read_offer(path, page, sort))
        except Rejected as problem:
            troubles.append(PageProblem(page.name, str(problem), problem.hint))
    return Pack("", tuple(offers), tuple(troubles))


def render_skill_page(name: str, skill: Skill) -> str:
    """The Markdown page of a skill: as imported if unchanged, else with its changes."""
    head = FrontMatter(skill.front_matter)
    fields = {**normalise_names(head.fields()), "body": skill.body}
    before, after = front_matter_fields(name, parse_skill(fields)), front_matter_fields(name, skill)
    if before == after:
        return skill.front_matter + skill.body
    kept = head.apply_changes(before, after) if skill.front_matter else new_front_matter(after)
    return kept + skill.body


def write_skill(folder: Path, name: str, skill: Skill) -> tuple[list[str], list[PageProblem]]:
    """Write a skill's page and files. Existing files that differ are reported and left alone.

    Returns the names of the written files, and the problems.
    """
    home = folder / check_name(name)
    contents = {SKILL_FILE: (render_skill_page(name, skill).encode(), False)}
    contents |= {file.path: (_bytes(file), file.executable) for file in skill.files}
    written: list[str] = []
    troubles: list[PageProblem] = []
    for path, (content, executable) in contents.items():
        shown = f"{name}/{path}"
        try:
            if _write_if_missing(home, path, content, executable=executable):
                written.append(shown)
        except Rejected as problem:
            troubles.append(PageProblem(shown, str(problem), problem.hint))
    return written, troubles


# -- reading ---------------------------------------------------------------------------------------


def _report_links(folder: Path) -> Iterator[PageProblem]:
    """Report skills that are symbolic links, because links are not followed."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_symlink() and (path / SKILL_FILE).is_file():
            hint = "Links are not followed: use the folder that it points to."
            yield PageProblem(path.name, "it is a symbolic link", hint)


def _skill_folders(pages: Sequence[PageFile]) -> set[str]:
    """The folders of skills. A `SKILL.md` deeper inside a skill is one of its files."""
    found: set[str] = set()
    for page in sorted(pages, key=lambda each: each.name.count("/")):
        home = PurePosixPath(page.name).parent
        if page.name.endswith(SKILL_FILE) and home.joinpath(SKILL_FILE).as_posix() == page.name:
            above = {each.as_posix() for each in home.parents}
            if above.isdisjoint(found):
                found.add(home.as_posix())
    return found


def _page_kind(name: str, homes: set[str]) -> PackEntrySort | None:
    """The kind of a page: a skill by its file name, others by their folder."""
    path = PurePosixPath(name)
    if path.name == SKILL_FILE and path.parent.as_posix() in homes:
        return "skill"
    shelf = path.parts[0] if len(path.parts) == 2 else ""
    return SHELVES.get(shelf) if shelf != "skills" else None


def _read_offer(root: Path, page: PageFile, sort: PackEntrySort) -> PackEntry:
    if page.problem:
        raise Invalid(page.problem, hint=page.hint)
    head, body = split_front_matter(page.content)
    fields = {**FrontMatter(head).fields(), "body": body}
    path = root / page.name
    if sort != "skill":
        return PackEntry(sort, page.name, fields, known_as=path.stem, page=True)
    home = path.parent.resolve()
    files = tuple(_files(home, home))
    return PackEntry(sort, page.name, fields, home.name, page=True, head=head, files=files)


def _files(home: Path, folder: Path) -> Iterator[SkillFile]:
    """The other files of a skill, subfolders included."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    if len(found) > FILES_MAX:
        raise Invalid(f"more than {FILES_MAX} files in a folder", hint="Pack them into an archive.")
    for entry in found:
        name = Path(entry.path).relative_to(home).as_posix()
        if entry.name.startswith(".") or name == SKILL_FILE:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _files(home, Path(entry.path))
        else:
            yield _file(Path(entry.path), name)


def _file(path: Path, name: str) -> SkillFile:
    content, problem, hint = read_limited(path, name)
    if problem:
        raise Invalid(f"{name}: {problem}", hint=hint)
    executable = bool(path.stat().st_mode & 0o100)
    try:
        return SkillFile(name, content.decode(), "utf-8", executable)
    except UnicodeDecodeError:
        return SkillFile(name, base64.b64encode(content).decode(), "base64", executable)


def _read_pack_file(folder: Path) -> _PackFile:
    path = folder / ABOUT
    return _read_json(path, _PackFile) if path.is_file() else _PackFile()


def _read_json(path: Path, shape: type[Any]) -> Any:
    content, problem, hint = read_limited(path, path.name)
    if problem:
        raise Invalid(f"{path.name}: {problem}", hint=hint)
    try:
        return msgspec.json.decode(content, type=shape)
    except msgspec.DecodeError as failure:
        raise Invalid(
            f"{path.name} is not a pack: {failure}", hint="See docs/packs.md."
        ) from failure


# -- writing ---------------------------------------------------------------------------------------


def _write_if_missing(home: Path, name: str, content: bytes, *, executable: bool) -> bool:
    """Write a file unless it exists; returns whether it was written."""
    target = home / name
    for folder in reversed([target.parent, *target.parent.parents][: len(Path(name).parts)]):
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise Invalid(f"{folder.name} is not a folder", hint="Export to an empty folder.")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.path.lexists(target):
        write_atomically(target, content, mode=0o700 if executable else PRIVATE)
        return True
    there, problem, hint = read_limited(target, name)
    if problem or there != content:
        raise Invalid(
            problem or "the file exists with other content, so it was not changed",
            hint=hint or "Import it first, or move it away.",
        )
    return False


def _bytes(file: SkillFile) -> bytes:
    if file.encoding == "base64":
        return base64.b64decode(file.content)
    return file.content.encode()
