"""The table of calls: one row for each thing that happened to a call."""

from typing import ClassVar

import apsw

from everloop.log import Fact, Projection, on
from everloop.voice.model import events as e


class VoiceCalls(Projection):
    """Calls, incoming and outgoing, and what became of each."""

    name = "voice_calls"
    tables: ClassVar[tuple[str, ...]] = ("voice_calls",)
    schema = """
    CREATE TABLE voice_calls (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        call_id    TEXT NOT NULL,
        act        TEXT NOT NULL,
        number     TEXT NOT NULL,
        request_id TEXT NOT NULL,
        detail     TEXT NOT NULL,
        at         INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX voice_calls_id ON voice_calls (call_id, position);
    CREATE INDEX voice_calls_act ON voice_calls (act, position);
    """

    @on(e.CallAnnounced)
    def _announced(self, db: apsw.Connection, new: e.CallAnnounced, fact: Fact) -> None:
        _insert(db, fact, (new.call_id, "announced", new.number, "", new.direction))

    @on(e.CallRefused)
    def _refused(self, db: apsw.Connection, new: e.CallRefused, fact: Fact) -> None:
        _insert(db, fact, (new.call_id, "refused", new.number, "", new.reason))

    @on(e.CallConnected)
    def _connected(self, db: apsw.Connection, new: e.CallConnected, fact: Fact) -> None:
        _insert(db, fact, (new.call_id, "connected", "", "", ""))

    @on(e.PinAccepted)
    def _accepted(self, db: apsw.Connection, new: e.PinAccepted, fact: Fact) -> None:
        _insert(db, fact, (new.call_id, "pin accepted", "", "", ""))

    @on(e.PinRefused)
    def _pin_refused(self, db: apsw.Connection, new: e.PinRefused, fact: Fact) -> None:
        _insert(db, fact, (new.call_id, "pin refused", "", "", new.reason))

    @on(e.CallEnded)
    def _ended(self, db: apsw.Connection, new: e.CallEnded, fact: Fact) -> None:
        _insert(db, fact, (new.call_id, "ended", "", "", new.reason))

    @on(e.CallBegun)
    def _begun(self, db: apsw.Connection, new: e.CallBegun, fact: Fact) -> None:
        _insert(db, fact, (new.call_id, "begun", new.number, new.request_id, ""))

    @on(e.CallPlaced)
    def _placed(self, db: apsw.Connection, new: e.CallPlaced, fact: Fact) -> None:
        _insert(db, fact, (new.call_id, "placed", "", "", new.call_sid))

    @on(e.CallFailed)
    def _failed(self, db: apsw.Connection, new: e.CallFailed, fact: Fact) -> None:
        _insert(db, fact, (new.call_id, "failed", "", "", new.reason))

    @on(e.CallLeftUncertain)
    def _uncertain(self, db: apsw.Connection, new: e.CallLeftUncertain, fact: Fact) -> None:
        _insert(db, fact, (new.call_id, "uncertain", "", "", new.reason))


def _insert(db: apsw.Connection, fact: Fact, row: tuple[str, str, str, str, str]) -> None:
    db.execute(
        "INSERT INTO voice_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (fact.position, fact.branch, *row, fact.recorded_us),
    )
