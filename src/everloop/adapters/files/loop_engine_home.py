"""Reads the home of loop-engine: Markdown files with YAML front matter, in folders by kind.

`memories/ID.md`, `lessons/STATUS/ID.md`, `skills/ID/SKILL.md`, `personas/ID/PERSONA.md` and
`teams/ID/TEAM.md`. Vectors, signals and the phase ledger are counted and left. Symbolic links are
not followed; a page that cannot be read is reported.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from everloop.adapters.files.front_matter import FrontMatter, split_front_matter
from everloop.adapters.files.markdown_folder import MarkdownFolder
from everloop.errors import Invalid, NotFound, Rejected
from everloop.lessons.crew.pack import Pack, PackEntry, PackEntrySort
from everloop.lessons.import_loop_engine import GONE, HomeLesson, HomeMemory, LoopEngineHome
from everloop.lessons.model.events import MemoryEvidence, Narrative, QuoteEvidence
from everloop.memory.markdown.folder import PageFile, PageProblem
from everloop.memory.model.events import Origin

STATUSES: Final = ("pending", "active", "promoted", *GONE)
PAGES: Final[dict[str, tuple[PackEntrySort, str]]] = {
    "skills": ("skill", "SKILL.md"),
    "personas": ("persona", "PERSONA.md"),
    "teams": ("team", "TEAM.md"),
}
LEFT: Final = ("signals", "phase_ledger", "tenants")
_SKILL_FIELDS: Final = ("status", "authored_by", "evidence_refs", "activation")

Fields = dict[str, Any]


def read_loop_engine_home(path: Path) -> LoopEngineHome:
    """Read a home.

    Raises:
        NotFound: there is no such folder.
        Invalid: it is not a home of loop-engine.
    """
    if not path.is_dir():
        raise NotFound(f"no folder {path}", hint="Give the folder that LOOP_HOME names.")
    if not any((path / name).is_dir() for name in ("memories", "lessons", *PAGES)):
        raise Invalid(
            f"{path} is not a home of loop-engine",
            hint="It has folders such as `memories` and `lessons`; by default it is ~/.loop.",
        )
    read = _Reading()
    for page in MarkdownFolder(path).pages():
        read.take(page)
    for name in LEFT:
        read.behind[name] += sum(each.is_file() for each in (path / name).rglob("*"))
    return read.home()


class _Reading:
    """Collects what the pages of a home say."""

    def __init__(self) -> None:
        self.behind: Counter[str] = Counter()
        self._memories: list[HomeMemory] = []
        self._lessons: list[HomeLesson] = []
        self._offers: list[PackEntry] = []
        self._active: list[tuple[str, str]] = []
        self._problems: list[PageProblem] = []

    def take(self, page: PageFile) -> None:
        """Read one page; a problem with it is kept."""
        parts = page.name.split("/")
        try:
            match parts:
                case ["memories", _]:
                    self._memories.append(_memory(page.name, *_fields(page)))
                case ["lessons", status, _] if status in STATUSES:
                    self._lesson(page, status)
                case [shelf, _, name] if shelf in PAGES and PAGES[shelf][1] == name:
                    self._entry(page, PAGES[shelf][0])
                case _:
                    return
        except Rejected as problem:
            self._problems.append(PageProblem(page.name, str(problem), problem.hint))

    def home(self) -> LoopEngineHome:
        """All of it."""
        return LoopEngineHome(
            tuple(self._memories),
            tuple(self._lessons),
            Pack("", tuple(self._offers)),
            tuple(self._active),
            tuple(self._problems),
            {name: number for name, number in sorted(self.behind.items()) if number},
        )

    def _lesson(self, page: PageFile, status: str) -> None:
        if status in GONE:
            self.behind[f"{status} lessons"] += 1
            return
        said, body = _fields(page)
        self.behind["uses"] += _number(said, "applied_count")
        self.behind["thumbs up"] += _number(said, "thumbs_up_count")
        self._lessons.append(_parse_lesson(page.name, status, said, body))

    def _entry(self, page: PageFile, sort: PackEntrySort) -> None:
        said, body = _fields(page)
        fields = {name: value for name, value in said.items() if name not in _SKILL_FIELDS}
        if sort == "team":
            fields["members"] = [_member(each) for each in said.get("members") or ()]
        cited = [ref for ref in _references(said) if ref.startswith("mem-")]
        entry = PackEntry(sort, page.name, {**fields, "body": body, "evidence": cited}, page=True)
        self._offers.append(entry)
        if said.get("status") == "active":
            self._active.append((sort, _text(said, "name" if sort == "skill" else "id")))


# -- pages -----------------------------------------------------------------------------------------


def _fields(page: PageFile) -> tuple[Fields, str]:
    if page.problem:
        raise Invalid(page.problem, hint=page.hint)
    head, body = split_front_matter(page.content)
    return FrontMatter(head).fields(tags=True), body.strip("\n")


def _memory(source: str, said: Fields, body: str) -> HomeMemory:
    origin: Fields = said.get("origin") or {}
    return HomeMemory(
        source=source,
        item_id=_required(said, "id"),
        title=_text(said, "description"),
        text=body,
        scope=_scope(said.get("scope")),
        origin=Origin(
            host=_text(origin, "host"),
            session=_text(origin, "session_id"),
            model=_text(origin, "model"),
            folder=_text(origin, "cwd_basename"),
        ),
        created_at=_text(said, "created_at"),
        derived_from=tuple(str(each) for each in said.get("derived_from") or ()),
    )


def _parse_lesson(source: str, status: str, said: Fields, body: str) -> HomeLesson:
    author = _text(said, "authored_by")
    pack_id = _text(said, "pack_id")
    if author == "pack" and not pack_id:
        author = "user"  # whoever installed it
    told: Fields = said.get("causal_narrative") or {}
    evidence = tuple(_references(told))
    return HomeLesson(
        source=source,
        lesson_id=_required(said, "id"),
        description=_text(said, "description"),
        body=body,
        status=status,
        author=author if author in ("user", "pack") else "agent",
        pack_id=pack_id,
        external_id=_text(said, "external_id"),
        target_skill=_text(said, "target_skill"),
        evidence=evidence,
        narrative=_narrative(told, evidence),
        thumbs_down=_number(said, "thumbs_down_count"),
    )


def _narrative(told: Fields, evidence: tuple[str, ...]) -> Narrative | None:
    if not told:
        return None
    refs = (
        MemoryEvidence(each) if each.startswith("mem-") else QuoteEvidence(each)
        for each in evidence
    )
    return Narrative(
        trigger=_text(told, "trigger"),
        failure_mode=_text(told, "failure_mode"),
        correction=_text(told, "correction"),
        confidence=_text(told, "confidence"),
        evidence=tuple(refs),
    )


def _references(said: Fields) -> Iterator[str]:
    """Evidence: a text is a quote; a map of one names a quote or a memory."""
    for each in said.get("evidence_refs") or ():
        if isinstance(each, dict):
            yield str(next(iter(cast("Fields", each).values()), ""))
        else:
            yield str(each)


def _scope(said: Any) -> str:
    if isinstance(said, dict):
        return next((f"{kind}:{name}" for kind, name in cast("Fields", said).items()), "user")
    return str(said or "user")


def _member(said: Any) -> str:
    if isinstance(said, dict):
        named = cast("Fields", said)
        return f"{named.get('kind', 'user')}:{named.get('id', '')}"
    return str(said)


def _required(said: Fields, name: str) -> str:
    if not (value := _text(said, name)):
        raise Invalid(f"it has no {name!r}", hint="Add it to the front matter.")
    return value


def _text(said: Fields, name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""


def _number(said: Fields, name: str) -> int:
    try:
        return max(0, msgspec.convert(said.get(name) or 0, int, strict=False))
    except msgspec.ValidationError:
        return 0
