"""Loads the gate's cases of many lessons, with a fixed number of queries.

It reads every fact that counts in the reader's sight, without an audience check: callers check who
may see a lesson, and a decision sees everything.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from everloop.lessons.gate.case import (
    CitedMemory,
    Contributor,
    FeedbackRecord,
    GateCase,
    LessonUse,
    NarrativeRecord,
    RelayedPromotion,
    VerdictRecord,
)
from everloop.lessons.model.commands import PromoteLesson
from everloop.lessons.model.events import LessonActivated
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.projections.hosts import trusted_actors
from everloop.lessons.projections.queries import (
    CURRENT_STATUS,
    CURRENT_TEXT,
    WITHDRAWN,
    recorded_rules,
)
from everloop.log import Reader, visible
from everloop.log.model.record import from_microseconds
from everloop.memory.model.scopes import OWNER
from everloop.memory.summaries.zoom import RETIRED_SQL

T = TypeVar("T")
RowsByLesson = dict[int, list[T]]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # a placeholder: the decision sets the time


def load_gate_cases(reader: Reader, positions: Sequence[int], now: datetime) -> list[GateCase]:
    """The cases of the lessons proposed at these positions, in this order."""
    wanted = msgspec.json.encode(positions).decode()
    uses = _group((row[1], LessonUse(row[0], *row[2:])) for row in reader.rows(_USES, (wanted,)))
    heard = _feedback(reader, wanted)
    tried = _group(
        (row[1], VerdictRecord(row[0], row[2], bool(row[3]), bool(row[4])))
        for row in reader.rows(_VERDICTS, (wanted,))
    )
    told = {
        row[1]: NarrativeRecord(row[0], row[2], row[3], bool(row[4]))
        for row in reader.rows(_NARRATIVES, (wanted,))
    }
    cited, hands = _cited_memories(reader, wanted), _writers(reader, wanted)
    relayed, rules = _relayed_promotions(reader), recorded_rules(reader)
    rows = {row[0]: row for row in reader.rows(_LESSONS, (wanted,))}
    return [
        GateCase(
            lesson_id=rows[at][1],
            status=Status(rows[at][2]),
            scope=rows[at][3],
            position=at,
            words_at=rows[at][4],
            written_at=from_microseconds(rows[at][5]),
            now=now,
            digest=rows[at][6],
            hands=frozenset(hands[at]),
            uses=tuple(uses.get(at, ())),
            heard=tuple(heard.get(at, ())),
            tried=tuple(tried.get(at, ())),
            told=told.get(at),
            cited=tuple(cited.get(at, ())),
            looked=bool(rows[at][7]),
            relayed=tuple(made for lesson, made in relayed if lesson != at),
            rules=rules,
        )
        for at in positions
        if at in rows
    ]


def load_gate_case(reader: Reader, command: PromoteLesson) -> GateCase | None:
    """Everything that the gate may know of the lesson; None if there is none."""
    found = [row[0] for row in reader.rows(_WHERE, (command.lesson_id,))]
    return next(iter(load_gate_cases(reader, found, _EPOCH)), None)


def _relayed_promotions(reader: Reader) -> list[tuple[int, RelayedPromotion]]:
    """The lessons that praise relayed by a trusted host promoted, each with its promotion."""
    trusted = msgspec.json.encode(sorted(trusted_actors(reader))).decode()
    if trusted == "[]":
        return []
    return [
        (lesson, RelayedPromotion(actor, from_microseconds(at)))
        for lesson, actor, at in reader.rows(_RELAYED, (trusted,))
    ]


def _feedback(reader: Reader, wanted: str) -> RowsByLesson[FeedbackRecord]:
    trusted = trusted_actors(reader)
    return _group(
        (
            row[1],
            FeedbackRecord(
                position=row[0],
                digest=row[2],
                helpful=bool(row[3]),
                actor=row[4],
                session=row[5],
                trusted_at=trusted.get(row[4], 0),
                guessed=bool(row[6]),
                heard_at=row[7] or 0,
            ),
        )
        for row in reader.rows(_FEEDBACK, (wanted,))
    )


def _writers(reader: Reader, wanted: str) -> RowsByLesson[Contributor]:
    """Who wrote each lesson.

    The pack wrote what the user installed from it; the user and the host both wrote what a host
    relayed as the user's.
    """
    hands: RowsByLesson[Contributor] = {}
    for lesson, position, actor, session, author, pack_id in reader.rows(
        _LESSON_WRITERS, (wanted,)
    ):
        own = hands.setdefault(lesson, [])
        if author == "pack" and actor == OWNER and position == lesson:
            own.append(Contributor(f"pack:{pack_id}", ""))
        else:
            own.append(Contributor(actor, session))
        if author == OWNER and actor != OWNER:
            own.append(Contributor(OWNER, ""))
    return hands


def _cited_memories(reader: Reader, wanted: str) -> RowsByLesson[CitedMemory]:
    """The memories that each lesson cites, with everyone who wrote a part of them."""
    named: RowsByLesson[str] = _group(
        (row[0], row[1]) for row in reader.rows(_CITATIONS, (wanted,))
    )
    ids = msgspec.json.encode(sorted({each for group in named.values() for each in group})).decode()
    touched: dict[str, set[Contributor]] = {}
    for item_id, actor, session in reader.rows(_MEMORY_WRITERS, (ids,)):
        touched.setdefault(item_id, set()).add(Contributor(actor, session))
    found = {
        row[0]: CitedMemory(
            item_id=row[0],
            position=row[1],
            changed_at=row[2],
            scope=row[3],
            restricted=bool(row[4]),
            retired=bool(row[5]),
            hands=frozenset(touched[row[0]]),
        )
        for row in reader.rows(_ITEMS, (ids,))
    }
    return {
        lesson: [found.get(each) or CitedMemory(each) for each in group]
        for lesson, group in named.items()
    }


def _group(pairs: Iterable[tuple[Any, T]]) -> RowsByLesson[T]:
    groups: RowsByLesson[T] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


# `j` are the positions of the wanted lessons; CROSS JOIN fixes the loop order of SQLite.
_LESSONS = f"""
SELECT l.position, l.lesson_id, ({CURRENT_STATUS}), l.scope, t.position, t.recorded_at, t.digest,
    EXISTS (SELECT 1 FROM lesson_statuses a CROSS JOIN log w ON w.position = a.position
        WHERE a.lesson = l.position AND a.position > t.position AND w.actor = '{OWNER}'
        AND w.kind = '{LessonActivated.wire}' AND {visible("a")})
FROM json_each(?) j CROSS JOIN lessons l ON l.position = j.value
JOIN lesson_texts t ON t.position = ({CURRENT_TEXT}) WHERE {visible("l")}
"""  # noqa: S608 - our own conditions
_LESSON_WRITERS = f"""
SELECT t.lesson, t.position, t.actor, t.session, l.author, l.pack_id FROM json_each(?) j
CROSS JOIN lesson_texts t ON t.lesson = j.value JOIN lessons l ON l.position = t.lesson
WHERE {visible("t")}
"""  # noqa: S608 - our own condition
_USES = f"""
SELECT u.position, u.lesson, u.digest, u.actor, u.session FROM json_each(?) j
CROSS JOIN lesson_uses u ON u.lesson = j.value WHERE {visible("u")} ORDER BY u.position
"""  # noqa: S608 - our own condition
_FEEDBACK = f"""
SELECT f.position, f.lesson, f.digest, f.helpful, f.actor, f.session, f.channel = 'sentiment', (
    SELECT w.position FROM log_because b CROSS JOIN host_words w ON w.position = b.source
    WHERE b.dependant = f.position AND w.actor = f.actor AND {visible("w")} LIMIT 1)
FROM json_each(?) j CROSS JOIN lesson_feedback f ON f.lesson = j.value
WHERE {visible("f")} AND NOT {WITHDRAWN} ORDER BY f.position
"""  # noqa: S608 - our own conditions
_RELAYED = f"""
SELECT s.lesson, f.actor, max(s.recorded_at) FROM lesson_feedback f
CROSS JOIN log_because b ON b.source = f.position
CROSS JOIN lesson_statuses s ON s.position = b.dependant
WHERE f.helpful AND f.actor IN (SELECT value FROM json_each(?))
AND s.status = '{Status.PROMOTED}' AND {visible("f")} AND {visible("s")} GROUP BY s.lesson, f.actor
"""  # noqa: S608 - our own conditions
_VERDICTS = f"""
SELECT v.position, v.lesson, v.digest, v.passed, v.outside FROM json_each(?) j
CROSS JOIN lesson_verdicts v ON v.lesson = j.value WHERE {visible("v")} ORDER BY v.position
"""  # noqa: S608 - our own condition
_NARRATIVES = f"""
SELECT n.position, n.lesson, n.digest, n.confidence, n.evidenced FROM json_each(?) j
CROSS JOIN lesson_narratives n ON n.lesson = j.value WHERE {visible("n")} ORDER BY n.position
"""  # noqa: S608 - the newest comes last, and stays
_CITATIONS = f"""
SELECT DISTINCT e.lesson, e.item_id FROM json_each(?) j
CROSS JOIN lesson_evidence e ON e.lesson = j.value WHERE {visible("e")} ORDER BY e.item_id
"""  # noqa: S608 - our own condition
_ITEMS = f"""
SELECT i.item_id, i.position, v.position, v.scope, v.restricted, {RETIRED_SQL} FROM json_each(?) j
CROSS JOIN memory_items i ON i.item_id = j.value
JOIN memory_versions v ON v.position = (
    SELECT x.position FROM memory_versions x WHERE x.item = i.position AND {visible("x")}
    ORDER BY x.position DESC LIMIT 1)
WHERE {visible("i")}
"""  # noqa: S608 - our own conditions
# Who wrote a version of an item, or of anything it was derived from. The session is known for the
# first version only; a revision does not record it.
_MEMORY_WRITERS = f"""
WITH RECURSIVE kin(root, item_id) AS (
    SELECT value, value FROM json_each(?)
    UNION
    SELECT kin.root, s.source_id FROM kin JOIN memory_items i ON i.item_id = kin.item_id
    JOIN memory_sources s ON s.position = i.position WHERE {visible("i")}
)
SELECT DISTINCT kin.root, w.actor, iif(v.position = i.position, i.session, '') FROM kin
CROSS JOIN memory_items i ON i.item_id = kin.item_id
CROSS JOIN memory_versions v ON v.item = i.position CROSS JOIN log w ON w.position = v.position
WHERE {visible("i")} AND {visible("v")}
"""  # noqa: S608 - our own conditions
_WHERE = f"SELECT l.position FROM lessons l WHERE l.lesson_id = ? AND {visible('l')}"  # noqa: S608
