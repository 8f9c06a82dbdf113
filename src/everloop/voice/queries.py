"""Queries on calls: the newest ones, and those that were begun and never settled.

For the owner only: there is no audience check here.
"""

from datetime import datetime

import msgspec

from everloop.log import Reader, visible
from everloop.log.model.record import from_microseconds, to_microseconds


class CallStep(msgspec.Struct, frozen=True):
    """One thing that happened to a call."""

    act: str
    detail: str
    at: datetime


class CallView(msgspec.Struct, frozen=True):
    """A call. `request_id` is the request of the inbox that it is about, if there is one."""

    call_id: str
    number: str
    direction: str
    request_id: str
    steps: tuple[CallStep, ...]

    @property
    def status(self) -> str:
        """The newest thing that happened to it."""
        return self.steps[-1].act


def newest_calls(reader: Reader, limit: int = 20) -> list[CallView]:
    """The newest calls, the newest first."""
    return [_to_call(reader, row[0]) for row in reader.rows(_NEWEST, (limit,))]


def unsettled_calls(reader: Reader) -> list[str]:
    """The outgoing calls that were begun, and of which nothing else is known."""
    return [row[0] for row in reader.rows(_UNSETTLED)]


def open_calls(reader: Reader, before: datetime) -> list[str]:
    """The calls that were announced, did not end, and to which nothing happened since `before`."""
    return [row[0] for row in reader.rows(_OPEN, (to_microseconds(before),))]


def _to_call(reader: Reader, call_id: str) -> CallView:
    rows = reader.rows(_STEPS, (call_id,))
    number = next((row[1] for row in rows if row[1]), "")
    request_id = next((row[2] for row in rows if row[2]), "")
    outgoing = any(row[0] == "begun" for row in rows)
    steps = tuple(CallStep(act, detail, from_microseconds(at)) for act, _, _, detail, at in rows)
    return CallView(call_id, number, "outgoing" if outgoing else "incoming", request_id, steps)


_NEWEST = f"""
SELECT c.call_id, max(c.position) AS newest FROM voice_calls c WHERE {visible("c")}
GROUP BY c.call_id ORDER BY newest DESC LIMIT ?
"""  # noqa: S608 - our own condition
_STEPS = f"""
SELECT c.act, c.number, c.request_id, c.detail, c.at FROM voice_calls c
WHERE c.call_id = ? AND {visible("c")} ORDER BY c.position
"""  # noqa: S608 - our own condition
_OPEN = f"""
SELECT c.call_id FROM voice_calls c
WHERE c.act IN ('announced', 'connected', 'pin accepted', 'pin refused') AND c.at < ?
AND {visible("c")}
AND NOT EXISTS (SELECT 1 FROM voice_calls n WHERE n.call_id = c.call_id
                AND n.position > c.position AND {visible("n")})
ORDER BY c.position
"""  # noqa: S608 - our own conditions
_UNSETTLED = f"""
SELECT c.call_id FROM voice_calls c WHERE c.act = 'begun' AND {visible("c")}
AND NOT EXISTS (SELECT 1 FROM voice_calls n WHERE n.call_id = c.call_id
                AND n.position > c.position AND {visible("n")})
ORDER BY c.position
"""  # noqa: S608 - our own conditions
