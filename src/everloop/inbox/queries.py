"""Queries on the inbox: the groups of the overview, one request, what is due, unread counts.

For the owner only: there is no audience check here.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from everloop.errors import NotFound
from everloop.inbox.model.events import Choice, Question, RequestRaised
from everloop.inbox.model.kinds import GROUP_OF_KIND, PRIORITIES
from everloop.inbox.projection import CLOSINGS
from everloop.log import Reader, visible
from everloop.log.model.event import decode
from everloop.log.model.record import from_microseconds
from everloop.log.sql_rows import Row

OPEN_MAX = 500  # requests in one overview, the most urgent first
OUTCOMES = ("answered", "expired", "withdrawn")
SEEN = ("read", "snoozed", "answered")  # after these a request is no longer unread


class ClosingView(msgspec.Struct, frozen=True):
    """The receipt of a closed request: what counted, who decided it, where and when."""

    outcome: str
    choice: str
    actor: str
    device: str
    at: datetime
    position: int


class RequestView(msgspec.Struct, frozen=True):
    """A request as a person sees it. `digest` goes back with the answer."""

    request_id: str
    kind: str
    group: str
    priority: str
    title: str
    body: str
    choices: tuple[Choice, ...]
    questions: tuple[Question, ...]
    subject: str
    digest: str
    raised_by: str
    raised_at: datetime
    position: int
    unread: bool
    expires_at: datetime | None = None
    expiry_choice: str = ""
    snoozed_until: datetime | None = None
    closing: ClosingView | None = None


class InboxOverview(msgspec.Struct, frozen=True):
    """The inbox in its groups; what needs a person most comes first.

    `failed` begins with the newest failure. `finished` has what ended a short time ago; older
    things are in `history`, with everything that was closed. `waiting` counts what needs a person.
    """

    needs_you: tuple[RequestView, ...]
    failed: tuple[RequestView, ...]
    finished: tuple[RequestView, ...]
    snoozed: tuple[RequestView, ...]
    history: tuple[RequestView, ...]
    waiting: int
    unread: int


class InboxCount(msgspec.Struct, frozen=True):
    """How many requests wait for a person, and how many were not seen yet."""

    waiting: int
    unread: int


def inbox_overview(
    reader: Reader, now_us: int, *, finished_s: int, history_limit: int
) -> InboxOverview:
    """The groups of the inbox, each in its order: by priority, then the newest first."""
    found = load_requests(reader, _open_positions(reader, history_limit))
    awake = [one for one in found if not _is_snoozed(one, now_us)]
    grouped: dict[str, list[RequestView]] = {"needs_you": [], "failed": [], "finished": []}
    for one in awake:
        grouped[one.group].append(one)
    since = from_microseconds(now_us - finished_s * 1_000_000)
    recent = [one for one in grouped["finished"] if one.raised_at >= since]
    old = [one for one in grouped["finished"] if one.raised_at < since]
    history = load_requests(reader, _closed_positions(reader, history_limit))
    passed = sorted([*old, *history], key=lambda one: -one.position)[:history_limit]
    waiting = grouped["needs_you"]
    return InboxOverview(
        needs_you=tuple(sorted(waiting, key=_by_priority)),
        failed=tuple(sorted(grouped["failed"], key=lambda one: -one.position)),
        finished=tuple(sorted(recent, key=lambda one: -one.position)),
        snoozed=tuple(sorted((o for o in found if _is_snoozed(o, now_us)), key=_by_priority)),
        history=tuple(passed),
        waiting=len(waiting) + len(grouped["failed"]),
        unread=sum(one.unread for one in (*waiting, *grouped["failed"], *recent)),
    )


def inbox_count(reader: Reader, now_us: int, *, finished_s: int, history_limit: int) -> InboxCount:
    """The numbers of the overview, without reading any request."""
    positions = msgspec.json.encode(_open_positions(reader, history_limit)).decode()
    since_us = now_us - finished_s * 1_000_000
    waiting = unread = 0
    for kind, at_us, snoozed_us, seen in reader.rows(_COUNTED, (positions,)):
        if snoozed_us is not None and snoozed_us > now_us:
            continue
        needs_person = GROUP_OF_KIND.get(kind, "needs_you") != "finished"
        waiting += needs_person
        unread += not seen and (needs_person or at_us >= since_us)
    return InboxCount(waiting, unread)


def find_request(reader: Reader, request_id: str) -> RequestView:
    """One request.

    Raises:
        NotFound: there is no such request.
    """
    found = load_requests(reader, [row[0] for row in reader.rows(_BY_ID, (request_id,))])
    if not found:
        raise NotFound(f"no request {request_id!r}", hint="`everloop inbox` lists them.")
    return found[0]


def open_requests_about(reader: Reader, subject: str) -> list[RequestView]:
    """The open requests about something."""
    found = load_requests(reader, [row[0] for row in reader.rows(_ABOUT, (subject,))])
    return [one for one in found if one.closing is None]


def answered_subjects(reader: Reader, kind: str) -> set[str]:
    """What the requests of a kind that a person has answered were about."""
    return {row[0] for row in reader.rows(_ANSWERED, (kind,))}


def due_requests(reader: Reader, now_us: int) -> list[str]:
    """The ids of open requests whose time is over."""
    return [row[0] for row in reader.rows(_DUE, (now_us,))]


def load_requests(reader: Reader, positions: Sequence[int]) -> list[RequestView]:
    """Requests by the positions where they were raised, in that order."""
    wanted = msgspec.json.encode(positions).decode()
    changes: dict[str, list[Row]] = {}
    for request_id, *change in reader.rows(_CHANGES, (wanted,)):
        changes.setdefault(request_id, []).append(tuple(change))
    rows = {row[0]: row for row in reader.rows(_RAISED, (wanted,))}
    return [_to_view(rows[position], changes) for position in positions]


def _open_positions(reader: Reader, finished_limit: int) -> list[int]:
    """Where open requests were raised: those never closed, and those whose closing is gone.

    Of finished work, which nobody has to answer, only the newest.
    """
    finished = reader.rows(_FINISHED, (finished_limit,))
    rows = (*reader.rows(_OPEN_NOW, (OPEN_MAX,)), *finished, *reader.rows(_REOPENED))
    return [row[0] for row in rows]


def _closed_positions(reader: Reader, limit: int) -> list[int]:
    return [row[0] for row in reader.rows(_CLOSED, (limit,))]


def _to_view(row: Row, changes_of: Mapping[str, Sequence[Row]]) -> RequestView:
    position, schema, data, actor, at_us = row
    raised = decode(RequestRaised.wire, schema, data)
    assert isinstance(raised, RequestRaised), "the view has positions of raised requests only"
    changes = changes_of.get(raised.request_id, ())
    snoozed_us = next((until for act, *_, until, _, _ in changes if act == "snoozed"), 0)
    closing = next((row for row in changes if row[0] in OUTCOMES), None)
    return RequestView(
        raised.request_id,
        raised.kind,
        GROUP_OF_KIND.get(raised.kind, "needs_you"),
        raised.priority,
        raised.title,
        raised.body,
        raised.choices,
        raised.questions,
        raised.subject,
        raised.digest,
        actor,
        from_microseconds(at_us),
        position,
        unread=not any(act in SEEN for act, *_ in changes),
        expires_at=from_microseconds(raised.expires_us) if raised.expires_us else None,
        expiry_choice=raised.expiry_choice,
        snoozed_until=from_microseconds(snoozed_us) if snoozed_us else None,
        closing=_closing(closing) if closing else None,
    )


def _closing(row: Row) -> ClosingView:
    act, choice, actor, device, _, at_us, position = row
    return ClosingView(act, choice, actor, device, from_microseconds(at_us), position)


def _is_snoozed(one: RequestView, now_us: int) -> bool:
    return one.snoozed_until is not None and one.snoozed_until > from_microseconds(now_us)


def _by_priority(one: RequestView) -> tuple[int, int]:
    return PRIORITIES.index(one.priority), -one.position


_HAS_CLOSING = f"""EXISTS (
    SELECT 1 FROM inbox_changes c WHERE c.request_id = r.request_id
    AND c.act IN {CLOSINGS} AND {visible("c")}
)"""  # noqa: S608 - our own conditions
_OPEN_NOW = f"""
SELECT r.position FROM inbox_requests r
WHERE r.closed = 0 AND r.kind <> 'finished' AND {visible("r")}
ORDER BY r.priority, r.position DESC LIMIT ?
"""  # noqa: S608 - our own condition
_FINISHED = f"""
SELECT r.position FROM inbox_requests r
WHERE r.closed = 0 AND r.kind = 'finished' AND {visible("r")} ORDER BY r.position DESC LIMIT ?
"""  # noqa: S608 - our own condition
# Closings that may not count: retracted ones, and those on other branches. Few, so the exact
# condition is asked of them alone, and not of every request that was ever answered.
_DOUBTFUL = """
SELECT c.request_id FROM log_hidden h CROSS JOIN inbox_changes c ON c.position = h.position
UNION SELECT c.request_id FROM temp.sight s
CROSS JOIN inbox_changes c ON c.branch = s.branch AND c.position > s.cap
UNION SELECT c.request_id FROM log_branches b
CROSS JOIN inbox_changes c ON c.branch = b.branch
WHERE b.branch NOT IN (SELECT branch FROM temp.sight)
UNION SELECT c.request_id FROM log_needs n CROSS JOIN inbox_changes c ON c.position = n.position
LEFT JOIN temp.sight s ON s.branch = n.branch
WHERE n.stream >= 'inbox:' AND n.stream < 'inbox;' AND n.at > ifnull(s.cap, -1)
"""
_REOPENED = f"""
SELECT r.position FROM ({_DOUBTFUL}) d CROSS JOIN inbox_requests r ON r.request_id = d.request_id
WHERE r.closed = 1 AND {visible("r")} AND NOT {_HAS_CLOSING}
"""  # noqa: S608 - our own conditions
_CLOSED = f"""
SELECT r.position FROM inbox_changes c JOIN inbox_requests r ON r.request_id = c.request_id
WHERE c.act IN {CLOSINGS} AND {visible("c")} AND {visible("r")}
ORDER BY c.position DESC LIMIT ?
"""  # noqa: S608 - our own conditions
_BY_ID = f"""
SELECT r.position FROM inbox_requests r WHERE r.request_id = ? AND {visible("r")}
ORDER BY r.position DESC LIMIT 1
"""  # noqa: S608 - our own condition
_ABOUT = f"""
SELECT r.position FROM inbox_requests r WHERE r.subject = ? AND {visible("r")} ORDER BY r.position
"""  # noqa: S608 - our own condition
_ANSWERED = f"""
SELECT DISTINCT r.subject FROM inbox_requests r
JOIN inbox_changes c ON c.request_id = r.request_id
WHERE r.kind = ? AND c.act = 'answered' AND {visible("c")} AND {visible("r")}
"""  # noqa: S608 - our own conditions
_DUE = f"""
SELECT r.request_id FROM inbox_requests r
WHERE r.closed = 0 AND r.expires_us > 0 AND r.expires_us <= ? AND {visible("r")}
ORDER BY r.position
"""  # noqa: S608 - our own condition
_RAISED = """
SELECT l.position, l.schema, l.data, l.actor, l.recorded_at FROM json_each(?) j
CROSS JOIN log l ON l.position = j.value
"""
_COUNTED = f"""
SELECT r.kind, r.at,
    (SELECT c.until_us FROM inbox_changes c
     WHERE c.request_id = r.request_id AND c.act = 'snoozed' AND {visible("c")}
     ORDER BY c.position DESC LIMIT 1),
    EXISTS (SELECT 1 FROM inbox_changes c
     WHERE c.request_id = r.request_id AND c.act IN {SEEN} AND {visible("c")})
FROM json_each(?) j CROSS JOIN inbox_requests r ON r.position = j.value
"""  # noqa: S608 - our own conditions
_CHANGES = f"""
SELECT c.request_id, c.act, c.choice, c.actor, c.device, c.until_us, c.at, c.position
FROM json_each(?) j CROSS JOIN inbox_requests r ON r.position = j.value
CROSS JOIN inbox_changes c ON c.request_id = r.request_id
WHERE {visible("c")} ORDER BY c.position DESC
"""  # noqa: S608 - our own condition
