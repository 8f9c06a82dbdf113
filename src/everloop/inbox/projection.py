"""The table of requests and of what happened to each; texts stay in the log, which has them once.

`inbox_requests.closed` is a hint that some branch has a closing: most queries then look at the
requests without one. Whether a closing counts is decided by its own row.
"""

from collections.abc import Sequence
from typing import ClassVar

import apsw

from everloop.inbox.model import events as e
from everloop.inbox.model.kinds import PRIORITIES
from everloop.log import Fact, Projection, on

CLOSINGS = "('answered', 'expired', 'withdrawn')"

_REOPEN = f"""
UPDATE inbox_requests SET closed = 0 WHERE closed = 1 AND NOT EXISTS (
    SELECT 1 FROM inbox_changes c
    WHERE c.request_id = inbox_requests.request_id AND c.act IN {CLOSINGS})
"""  # noqa: S608 - our own condition


class InboxTable(Projection):
    """Requests, and their receipts, snoozes and reading."""

    name = "inbox"
    tables: ClassVar[tuple[str, ...]] = ("inbox_requests", "inbox_changes")
    schema = """
    CREATE TABLE inbox_requests (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        request_id TEXT NOT NULL,
        kind       TEXT NOT NULL,
        priority   INTEGER NOT NULL,
        subject    TEXT NOT NULL,
        expires_us INTEGER NOT NULL,
        at         INTEGER NOT NULL,
        closed     INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX inbox_requests_id ON inbox_requests (request_id);
    CREATE INDEX inbox_requests_subject ON inbox_requests (subject);
    CREATE INDEX inbox_requests_open ON inbox_requests (kind, position) WHERE closed = 0;
    CREATE INDEX inbox_requests_expiry ON inbox_requests (expires_us)
    WHERE closed = 0 AND expires_us > 0;
    CREATE TABLE inbox_changes (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        request_id TEXT NOT NULL,
        act        TEXT NOT NULL,
        choice     TEXT NOT NULL,
        actor      TEXT NOT NULL,
        device     TEXT NOT NULL,
        until_us   INTEGER NOT NULL,
        at         INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX inbox_changes_request ON inbox_changes (request_id, position);
    CREATE INDEX inbox_changes_branch ON inbox_changes (branch, position);
    """

    def forget(self, db: apsw.Connection, positions: Sequence[int]) -> None:
        """Delete the rows of purged facts; a request whose closing is gone is open again."""
        super().forget(db, positions)
        db.execute(_REOPEN)

    @on(e.RequestRaised)
    def _raised(self, db: apsw.Connection, new: e.RequestRaised, fact: Fact) -> None:
        rank = PRIORITIES.index(new.priority) if new.priority in PRIORITIES else len(PRIORITIES)
        row = (new.request_id, new.kind, rank, new.subject, new.expires_us, fact.recorded_us)
        db.execute(
            "INSERT INTO inbox_requests VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)",
            (fact.position, fact.branch, *row),
        )

    @on(e.RequestAnswered)
    def _answered(self, db: apsw.Connection, new: e.RequestAnswered, fact: Fact) -> None:
        _close(db, fact, new.request_id, "answered", new.choice, new.device)

    @on(e.RequestExpired)
    def _expired(self, db: apsw.Connection, new: e.RequestExpired, fact: Fact) -> None:
        _close(db, fact, new.request_id, "expired", new.choice)

    @on(e.RequestWithdrawn)
    def _withdrawn(self, db: apsw.Connection, new: e.RequestWithdrawn, fact: Fact) -> None:
        _close(db, fact, new.request_id, "withdrawn", "")

    @on(e.RequestSnoozed)
    def _snoozed(self, db: apsw.Connection, new: e.RequestSnoozed, fact: Fact) -> None:
        _insert(db, fact, (new.request_id, "snoozed", "", "", new.until_us))

    @on(e.RequestRead)
    def _read(self, db: apsw.Connection, new: e.RequestRead, fact: Fact) -> None:
        _insert(db, fact, (new.request_id, "read", "", "", 0))


def _close(
    db: apsw.Connection, fact: Fact, request_id: str, act: str, choice: str, device: str = ""
) -> None:
    _insert(db, fact, (request_id, act, choice, device, 0))
    db.execute("UPDATE inbox_requests SET closed = 1 WHERE request_id = ?", (request_id,))


def _insert(db: apsw.Connection, fact: Fact, row: tuple[str, str, str, str, int]) -> None:
    request_id, act, choice, device, until_us = row
    db.execute(
        "INSERT INTO inbox_changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            fact.position,
            fact.branch,
            request_id,
            act,
            choice,
            fact.actor,
            device,
            until_us,
            fact.recorded_us,
        ),
    )
