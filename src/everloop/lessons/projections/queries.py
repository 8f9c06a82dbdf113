"""The queries on lessons, with the audience check that every read goes through.

A lesson is visible to askers whose scopes admit it, and to the host that proposed it. Lists,
counts, single lessons and search use the same condition.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.lessons.model.events import Evidence, Narrative, Source
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.settings import GateRules
from everloop.log import Reader, visible
from everloop.log.model.record import from_microseconds
from everloop.memory.model.scopes import Viewer

LISTED_STATUSES = (Status.PENDING, Status.ACTIVE, Status.PROMOTED, Status.SUPERSEDED)  # by default

# SQL fragments on a lesson `l` or on feedback `f`, filtered by the reader's sight.
CURRENT_TEXT = f"""
SELECT x.position FROM lesson_texts x WHERE x.lesson = l.position AND {visible("x")}
ORDER BY x.position DESC LIMIT 1
"""  # noqa: S608 - our own condition
NEWEST_STATUS = f"""
FROM lesson_statuses s WHERE s.lesson = l.position AND {visible("s")}
ORDER BY s.position DESC LIMIT 1
"""
CURRENT_STATUS = f"SELECT s.status {NEWEST_STATUS}"
WITHDRAWN = f"""EXISTS (SELECT 1 FROM lesson_withdrawals w WHERE w.lesson = f.lesson
    AND w.signal_id = f.signal_id AND w.position > f.position AND {visible("w")})"""  # noqa: S608 - our own condition


def status_before(reader: Reader, lesson_id: str, position: int) -> Status | None:
    """The status that a lesson had before a fact; None if there was no lesson."""
    rows = reader.rows(_STATUS_BEFORE, (lesson_id, position))
    return Status(rows[0][0]) if rows else None


_STATUS_BEFORE = f"""
SELECT s.status FROM lessons l CROSS JOIN lesson_statuses s ON s.lesson = l.position
WHERE l.lesson_id = ? AND s.position < ? AND {visible("l")} AND {visible("s")}
ORDER BY s.position DESC LIMIT 1
"""  # noqa: S608 - our own conditions


class LessonView(msgspec.Struct, frozen=True):
    """A lesson as an asker sees it.

    `note` is why it was demoted or discarded, which lesson superseded it, or which pack seeded it.
    `sources` are the kinds of signals that it has got.
    """

    position: int
    lesson_id: str
    description: str
    body: str
    digest: str
    status: Status
    note: str
    scope: str
    author: str
    actor: str
    session: str
    pack_id: str
    external_id: str
    target_skill: str
    evidence: tuple[Evidence, ...]
    source: Source | None
    created_at: datetime
    written_at: datetime
    updated_at: datetime
    uses: int = 0
    last_used_at: datetime | None = None
    thumbs_up: int = 0
    thumbs_down: int = 0
    sources: tuple[str, ...] = ()
    narrative: Narrative | None = None


class LessonPage(msgspec.Struct, frozen=True):
    """One page of a list, with the total count."""

    total: int
    lessons: tuple[LessonView, ...]


def find_lesson(reader: Reader, who: Viewer, lesson_id: str) -> LessonView:
    """One lesson, whatever its status.

    Raises:
        NotFound: there is none, or the asker may not see it; the error does not say which.
    """
    found = [row[0] for row in _visible_lessons(reader, who, "l.lesson_id = :id", id=lesson_id)]
    if not found:
        raise NotFound(f"no lesson {lesson_id!r}", hint="`everloop lessons` lists them.")
    return load_lessons(reader, found)[0]


def lesson_page(
    reader: Reader, who: Viewer, statuses: Sequence[str] = (), *, limit: int = 50, offset: int = 0
) -> LessonPage:
    """A page of lessons, sorted by status, then by id; by default without discarded ones.

    Raises:
        Invalid: there is no such status.
    """
    wanted = {parse_status(name) for name in statuses} or set(LISTED_STATUSES)
    rows = [row for row in _visible_lessons(reader, who) if row[2] in wanted]
    rows.sort(key=lambda row: (row[2], row[1]))
    shown = [row[0] for row in rows[offset : offset + limit]]
    return LessonPage(len(rows), tuple(load_lessons(reader, shown)))


def lesson_positions(
    reader: Reader, who: Viewer, statuses: Iterable[Status] = LISTED_STATUSES
) -> list[int]:
    """The positions of the proposals of lessons with these statuses, oldest first."""
    wanted = set(statuses)
    return sorted(row[0] for row in _visible_lessons(reader, who) if row[2] in wanted)


def visible_lesson_ids(reader: Reader, who: Viewer, lesson_ids: Iterable[str]) -> set[str]:
    """The ids of those lessons that the asker may see, whatever their status."""
    where = "l.lesson_id IN (SELECT value FROM json_each(:ids))"
    return {row[1] for row in _visible_lessons(reader, who, where, ids=_json(sorted(lesson_ids)))}


def current_texts(
    reader: Reader, who: Viewer, wordings: Sequence[int]
) -> dict[int, tuple[int, str]]:
    """Those of these text versions that are current, in visible lessons that are not discarded.

    Maps each to the position of its lesson's proposal, and its id.
    """
    sql = f"""
    SELECT t.position, l.position, l.lesson_id, ({CURRENT_STATUS}) AS status
    FROM json_each(:wordings) j
    CROSS JOIN lesson_texts t ON t.position = j.value JOIN lessons l ON l.position = t.lesson
    WHERE {visible("t")} AND {visible("l")} AND {_AUDIENCE} AND t.position = ({CURRENT_TEXT})
    """  # noqa: S608 - our own conditions
    rows = reader.rows(sql, {**_audience_bindings(who), "wordings": _json(wordings)})
    return {row[0]: (row[1], row[2]) for row in rows if row[3] != Status.DISCARDED}


def load_lessons(reader: Reader, found: Sequence[int]) -> list[LessonView]:
    """The lessons proposed at these positions, in this order, without an audience check."""
    wanted = _json(found)
    counts = {row[0]: row[1:] for row in reader.rows(_USES, (wanted,))}
    heard: dict[int, list[tuple[str, bool]]] = {}
    for lesson, channel, helpful in reader.rows(_FEEDBACK, (wanted,)):
        heard.setdefault(lesson, []).append((channel, bool(helpful)))
    verdicts: dict[int, list[str]] = {}
    for lesson, passed in reader.rows(_VERDICTS, (wanted,)):
        verdicts.setdefault(lesson, []).append("runner_passed" if passed else "runner_failed")
    rows = {row[0]: row for row in reader.rows(_LESSONS, (wanted,))}
    return [
        _lesson(
            rows[position],
            counts.get(position, (0, None)),
            heard.get(position, []),
            verdicts.get(position, []),
        )
        for position in found
        if position in rows
    ]


def parse_status(name: str) -> Status:
    """The status of that name.

    Raises:
        Invalid: there is none.
    """
    try:
        return Status(name)
    except ValueError as problem:
        raise Invalid(
            f"{name!r} is no status of a lesson", hint=f"Use {', '.join(Status)}."
        ) from problem


# -- helpers ---------------------------------------------------------------------------------------

_AUDIENCE = """(:everything OR l.actor = :principal
    OR l.scope IN (SELECT value FROM json_each(:scopes))
    OR substr(l.scope, 1, instr(l.scope, ':')) IN (SELECT value FROM json_each(:kinds)))"""
_VISIBLE_LESSONS = f"""
SELECT l.position, l.lesson_id, ({CURRENT_STATUS}) FROM lessons l
WHERE {{where}} AND {visible("l")} AND {_AUDIENCE}
"""  # noqa: S608 - our own conditions
_LESSONS = f"""
SELECT l.position, l.lesson_id, t.description, t.body, t.digest, s.status, s.note,
    l.scope, l.author, l.actor, l.session, l.pack_id, l.external_id, l.target_skill, l.evidence,
    l.source, l.recorded_at, t.recorded_at, max(t.recorded_at, s.recorded_at), (
        SELECT n.narrative FROM lesson_narratives n
        WHERE n.lesson = l.position AND n.digest = t.digest AND {visible("n")}
        ORDER BY n.position DESC LIMIT 1)
FROM json_each(?) j CROSS JOIN lessons l ON l.position = j.value
JOIN lesson_texts t ON t.position = ({CURRENT_TEXT})
JOIN lesson_statuses s ON s.position = (SELECT s.position {NEWEST_STATUS})
"""  # noqa: S608 - our own conditions
_USES = f"""
SELECT u.lesson, count(*), max(u.recorded_at) FROM json_each(?) j
CROSS JOIN lesson_uses u ON u.lesson = j.value WHERE {visible("u")} GROUP BY u.lesson
"""  # noqa: S608 - our own condition
_FEEDBACK = f"""
SELECT f.lesson, f.channel, f.helpful FROM json_each(?) j
CROSS JOIN lesson_feedback f ON f.lesson = j.value
WHERE {visible("f")} AND NOT {WITHDRAWN} ORDER BY f.position
"""  # noqa: S608 - our own conditions
_VERDICTS = f"""
SELECT v.lesson, v.passed FROM json_each(?) j CROSS JOIN lesson_verdicts v ON v.lesson = j.value
WHERE v.outside AND {visible("v")} ORDER BY v.position
"""  # noqa: S608 - our own condition
_SIGNAL_KINDS = {
    ("thumbs", True): "user_thumbs_up",
    ("thumbs", False): "user_thumbs_down",
    ("sentiment", True): "sentiment_positive",
    ("sentiment", False): "sentiment_negative",
}


def _visible_lessons(
    reader: Reader, who: Viewer, where: str = "true", **bindings: Any
) -> list[tuple[Any, ...]]:
    """The position, id and status of each lesson that the asker may see."""
    return reader.rows(
        _VISIBLE_LESSONS.format(where=where), {**_audience_bindings(who), **bindings}
    )


def _audience_bindings(who: Viewer) -> dict[str, Any]:
    everything = who.is_owner or "*" in who.scopes
    kinds = [scope.removesuffix("*") for scope in who.scopes if scope.endswith(":*")]
    exact = [scope for scope in who.scopes if not scope.endswith("*")]
    return {
        "everything": int(everything),
        "principal": who.principal,
        "scopes": _json(exact),
        "kinds": _json(kinds),
    }


def _lesson(
    row: Sequence[Any],
    counted: Sequence[Any],
    heard: Sequence[tuple[str, bool]],
    verdicts: Sequence[str],
) -> LessonView:
    names = [_SIGNAL_KINDS.get(each, each[0]) for each in heard]
    return LessonView(
        position=row[0],
        lesson_id=row[1],
        description=row[2],
        body=row[3],
        digest=row[4],
        status=Status(row[5]),
        note=row[6],
        scope=row[7],
        author=row[8],
        actor=row[9],
        session=row[10],
        pack_id=row[11],
        external_id=row[12],
        target_skill=row[13],
        evidence=msgspec.json.decode(row[14], type=tuple[Evidence, ...]),
        source=msgspec.json.decode(row[15], type=Source) if row[15] else None,
        created_at=from_microseconds(row[16]),
        written_at=from_microseconds(row[17]),
        updated_at=from_microseconds(row[18]),
        uses=counted[0],
        last_used_at=from_microseconds(counted[1]) if counted[1] else None,
        thumbs_up=sum(helpful for _, helpful in heard),
        thumbs_down=sum(not helpful for _, helpful in heard),
        sources=tuple(dict.fromkeys([*names, *verdicts])),
        narrative=msgspec.json.decode(row[19], type=Narrative) if row[19] else None,
    )


def _json(values: Sequence[int] | Sequence[str]) -> str:
    return msgspec.json.encode(values).decode()


def recorded_rules(reader: Reader) -> GateRules | None:
    """The rules of the gate that the log holds; None if it has none."""
    rows = reader.rows(_NEWEST_RULES)
    return msgspec.json.decode(rows[0][0], type=GateRules) if rows else None


_NEWEST_RULES = f"""
SELECT r.rules FROM gate_rules r WHERE {visible("r")} ORDER BY r.position DESC LIMIT 1
"""  # noqa: S608 - our own condition
