"""What the deciders of lessons look up in the views before a decision is made."""

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from everloop.lessons.books import trusted_actors
from everloop.lessons.case import Case
from everloop.lessons.cases import cases
from everloop.lessons.commands import (
    NarrateLesson,
    PromoteLesson,
    ProposeLesson,
    SupersedeLesson,
    UseLesson,
)
from everloop.lessons.events import Evidence, MemoryEvidence
from everloop.lessons.lifecycle import Status
from everloop.lessons.surroundings import ItemSeen, Replacement, Surroundings
from everloop.log import Command, Reader, visible
from everloop.memory.browsing import grants

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # a decision puts its own time in place of it


def whom_to_trust(reader: Reader, command: Command) -> Surroundings:
    """Whom the user trusts."""
    del command
    trusted = trusted_actors(reader)
    return Surroundings(trusted=frozenset(trusted), trusted_at=trusted)


def evidence_for(reader: Reader, command: ProposeLesson | NarrateLesson) -> Surroundings:
    """Whom the user trusts, who may see what, and the memories that the evidence names."""
    named = command.evidence if isinstance(command, ProposeLesson) else command.narrative.evidence
    trusted = trusted_actors(reader)
    return Surroundings(
        trusted=frozenset(trusted),
        trusted_at=trusted,
        audiences={grant.principal: grant.scopes for grant in grants(reader)},
        items=_items(reader, named),
    )


def replacement_for(reader: Reader, command: SupersedeLesson) -> Surroundings:
    """The lesson that is to take the place, and every lesson that took its own."""
    found = reader.rows(_REPLACEMENT, (command.by,))
    replacement = None
    if found:
        position, scope, actor, status = found[0]
        chain = tuple(row[0] for row in reader.rows(_CHAIN, (command.by,)))
        replacement = Replacement(position, scope, actor, Status(status), chain)
    return Surroundings(
        trusted=frozenset(trusted_actors(reader)),
        audiences={grant.principal: grant.scopes for grant in grants(reader)},
        replacement=replacement,
    )


def used_before(reader: Reader, command: UseLesson) -> frozenset[tuple[str, str]]:
    """Who has noted a use of these words under this id: actors and sessions."""
    rows = reader.rows(_SAME_USE, (command.lesson_id, command.use_id))
    return frozenset((actor, session) for actor, session in rows)


def case_of(reader: Reader, command: PromoteLesson) -> Case | None:
    """The lesson's case."""
    found = [row[0] for row in reader.rows(_WHERE, (command.lesson_id,))]
    return next(iter(cases(reader, found, _EPOCH)), None)


# -- inside ----------------------------------------------------------------------------------------

_WHERE = f"SELECT l.position FROM lessons l WHERE l.lesson_id = ? AND {visible('l')}"  # noqa: S608
_NEWEST = f"""
FROM lesson_statuses s WHERE s.lesson = l.position AND {visible("s")}
ORDER BY s.position DESC LIMIT 1
"""
_REPLACEMENT = f"""
SELECT l.position, l.scope, l.actor, (SELECT s.status {_NEWEST}) FROM lessons l
WHERE l.lesson_id = ? AND {visible("l")}
"""  # noqa: S608 - our own conditions
_CHAIN = f"""
WITH RECURSIVE chain(lesson_id) AS (
    VALUES (?)
    UNION
    SELECT (SELECT iif(s.status = '{Status.SUPERSEDED}', s.note, NULL) {_NEWEST})
    FROM chain JOIN lessons l ON l.lesson_id = chain.lesson_id WHERE {visible("l")}
)
SELECT lesson_id FROM chain WHERE lesson_id IS NOT NULL
"""  # noqa: S608 - our own conditions
_SAME_USE = f"""
SELECT u.actor, u.session FROM lessons l JOIN lesson_uses u ON u.lesson = l.position
WHERE l.lesson_id = ? AND u.use_id = ? AND {visible("u")} AND u.digest = (
    SELECT t.digest FROM lesson_texts t WHERE t.lesson = l.position AND {visible("t")}
    ORDER BY t.position DESC LIMIT 1)
"""  # noqa: S608 - our own conditions
_ITEMS = f"""
SELECT i.item_id, i.position, v.position, v.scope, v.text FROM json_each(?) j
CROSS JOIN memory_items i ON i.item_id = j.value
JOIN memory_versions v ON v.position = (
    SELECT x.position FROM memory_versions x WHERE x.item = i.position AND {visible("x")}
    ORDER BY x.position DESC LIMIT 1)
WHERE {visible("i")}
"""  # noqa: S608 - our own conditions
_WITNESSES = """
SELECT w.position, w.principal FROM json_each(?) j
JOIN memory_witnesses w ON w.position = j.value ORDER BY w.principal
"""


def _items(reader: Reader, evidence: Iterable[Evidence]) -> dict[str, ItemSeen]:
    named = {
        each.item_id if isinstance(each, MemoryEvidence) else each.found_in for each in evidence
    }
    rows = reader.rows(_ITEMS, (_json(sorted(named - {""})),))
    witnesses: dict[int, list[str]] = {}
    for version, principal in reader.rows(_WITNESSES, (_json([row[2] for row in rows]),)):
        witnesses.setdefault(version, []).append(principal)
    return {
        item_id: ItemSeen(position, scope, tuple(witnesses.get(version, ())), text)
        for item_id, position, version, scope, text in rows
    }


def _json(values: list[str] | list[int]) -> str:
    return msgspec.json.encode(values).decode()
