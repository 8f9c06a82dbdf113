"""The queries on skills, personas and teams, with the audience check of every read.

An asker sees the scopes that they were granted, and what they wrote; the owner sees everything. A
hidden entry is reported as not found.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.lessons.crew.commands import EnlistEntry, ReviseEntry
from everloop.lessons.crew.decide import EntryCommand
from everloop.lessons.crew.events import Profile, Sort
from everloop.lessons.lookup import load_cited_items
from everloop.lessons.model.decision_context import DecisionLookup, may_see
from everloop.lessons.model.events import Narrative
from everloop.lessons.projections.hosts import trusted_actors
from everloop.lessons.projections.queries import CURRENT_STATUS
from everloop.log import Reader, visible
from everloop.log.model.record import from_microseconds
from everloop.memory.browse.queries import current_grants
from everloop.memory.model.scopes import Viewer

ENTRY_STATUSES: Final = ("draft", "active", "archived")


class EntrySummary(msgspec.Struct, frozen=True):
    """An entry as lists show it."""

    position: int
    sort: Sort
    name: str
    title: str
    description: str
    activation: str
    paths: tuple[str, ...]
    scope: str
    author: str
    actor: str
    pack_id: str
    written_at: datetime
    status: str


class SkillImprovement(msgspec.Struct, frozen=True):
    """A promoted lesson that targets a skill."""

    lesson_id: str
    promoted_at: datetime
    trigger: str
    author: str


class FullEntry(msgspec.Struct, frozen=True):
    """An entry with its profile, its evidence, and the promoted lessons that target it."""

    headline: EntrySummary
    profile: Profile
    evidence: tuple[str, ...]
    history: tuple[SkillImprovement, ...]


def entry_summaries(
    reader: Reader, who: Viewer, sort: Sort, statuses: Sequence[str] = ("draft", "active")
) -> list[EntrySummary]:
    """The visible entries of a sort, by name.

    Raises:
        Invalid: a status is unknown.
    """
    if unknown := [status for status in statuses if status not in ENTRY_STATUSES]:
        raise Invalid(f"{unknown[0]!r} is not a status", hint=f"Use {', '.join(ENTRY_STATUSES)}.")
    named = {"sort": sort, "statuses": msgspec.json.encode(list(statuses)).decode()}
    found = [_headline(row) for row in reader.rows(_LISTED, named)]
    return [each for each in found if may_see(who, each.scope, each.actor)]


def find_entry(reader: Reader, who: Viewer, sort: Sort, name: str) -> FullEntry:
    """One entry in full, also an archived one.

    Raises:
        NotFound: there is none, or the asker may not see it; the error does not say which.
    """
    rows = reader.rows(_ONE, {"sort": sort, "name": name})
    headline = _headline(rows[0]) if rows else None
    if headline is None or not may_see(who, headline.scope, headline.actor):
        raise NotFound(f"no {sort} {name!r}", hint=f"`everloop {sort}s` lists them.")
    evidence, profile = rows[0][-2:]
    return FullEntry(
        headline,
        msgspec.json.decode(profile, type=Profile),
        tuple(msgspec.json.decode(evidence)),
        tuple(skill_history(reader, who, name)) if sort == "skill" else (),
    )


def skill_history(reader: Reader, who: Viewer, skill: str) -> list[SkillImprovement]:
    """The promoted lessons that target a skill, oldest first, each once."""
    return [
        SkillImprovement(lesson_id, from_microseconds(at), _trigger(narrative), author)
        for lesson_id, scope, author, actor, at, narrative in reader.rows(_HISTORY, (skill,))
        if may_see(who, scope, actor)
    ]


def pack_counts(reader: Reader, who: Viewer) -> dict[str, dict[str, int]]:
    """The packs, each with how many visible entries of each sort it added."""
    found: dict[str, dict[str, int]] = {}
    for pack_id, sort, scope, actor, status in reader.rows(_PACKED):
        if status != "discarded" and may_see(who, scope, actor):
            counts = found.setdefault(pack_id, {})
            counts[sort] = counts.get(sort, 0) + 1
    return dict(sorted(found.items()))


def entry_lookup(reader: Reader, command: EntryCommand) -> DecisionLookup:
    """The context of a decision about an entry: trust, audiences and cited memories."""
    ids: set[str] = set()
    if isinstance(command, EnlistEntry | ReviseEntry):
        ids.update(command.evidence or ())
    for (evidence,) in reader.rows(_EVIDENCE, (command.sort, command.name)):
        ids.update(msgspec.json.decode(evidence))
    return DecisionLookup(
        trusted=frozenset(trusted_actors(reader)),
        audiences={grant.principal: grant.scopes for grant in current_grants(reader)}
        if ids
        else {},
        items=load_cited_items(reader, ids),
    )


# -- helpers ---------------------------------------------------------------------------------------

_COLUMNS = """
e.position, e.sort, e.name, e.title, e.description, e.activation, e.paths, e.scope, e.author,
e.actor, e.pack_id, e.recorded_at
"""
_STATUS = f"""(
SELECT m.status FROM crew_marks m WHERE m.sort = e.sort AND m.name = e.name AND {visible("m")}
ORDER BY m.position DESC LIMIT 1)"""  # noqa: S608 - our own condition
_NEWEST = f"""{visible("e")} AND NOT EXISTS (
SELECT 1 FROM crew_entries n WHERE n.sort = e.sort AND n.name = e.name AND n.position > e.position
AND {visible("n")})"""  # noqa: S608 - our own condition
_LISTED = f"""
SELECT {_COLUMNS}, {_STATUS} AS status FROM crew_entries e
WHERE e.sort = :sort AND {_NEWEST} AND status IN (SELECT value FROM json_each(:statuses))
ORDER BY e.name
"""  # noqa: S608 - our own conditions
_ONE = f"""
SELECT {_COLUMNS}, {_STATUS} AS status, e.evidence, e.profile FROM crew_entries e
WHERE e.sort = :sort AND e.name = :name AND {_NEWEST} AND status <> 'removed'
"""  # noqa: S608 - our own conditions
_EVIDENCE = f"""
SELECT e.evidence FROM crew_entries e WHERE e.sort = ? AND e.name = ? AND {visible("e")}
"""  # noqa: S608 - our own condition
_HISTORY = f"""
SELECT l.lesson_id, l.scope, l.author, l.actor, p.recorded_at, (
    SELECT n.narrative FROM lesson_narratives n WHERE n.lesson = l.position
    AND n.position < p.position AND {visible("n")} ORDER BY n.position DESC LIMIT 1)
FROM lessons l JOIN lesson_statuses p ON p.lesson = l.position AND p.status = 'promoted'
WHERE l.target_skill = ? AND {visible("l")} AND {visible("p")} AND NOT EXISTS (
    SELECT 1 FROM lesson_statuses b WHERE b.lesson = p.lesson AND b.status = 'promoted'
    AND b.position < p.position AND {visible("b")})
ORDER BY p.position
"""  # noqa: S608 - our own conditions
_PACKED = f"""
SELECT e.pack_id, e.sort, e.scope, e.actor, {_STATUS} AS status FROM crew_entries e
WHERE e.pack_id <> '' AND {_NEWEST} AND status <> 'removed'
UNION ALL
SELECT l.pack_id, 'lesson', l.scope, l.actor, ({CURRENT_STATUS}) FROM lessons l
WHERE l.pack_id <> '' AND {visible("l")}
"""  # noqa: S608 - our own conditions


def _headline(row: Sequence[Any]) -> EntrySummary:
    return EntrySummary(
        position=row[0],
        sort=row[1],
        name=row[2],
        title=row[3],
        description=row[4],
        activation=row[5],
        paths=tuple(msgspec.json.decode(row[6])),
        scope=row[7],
        author=row[8],
        actor=row[9],
        pack_id=row[10],
        written_at=from_microseconds(row[11]),
        status=row[12],
    )


def _trigger(narrative: str | None) -> str:
    """The trigger of a lesson's narrative; empty if it has none."""
    return msgspec.json.decode(narrative, type=Narrative).trigger if narrative else ""
