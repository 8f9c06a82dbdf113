"""The projections of hosts: which ones the user trusts, and the phases of their tasks."""

from datetime import datetime
from typing import ClassVar

import apsw
import msgspec

from everloop.lessons.model.events import HostDistrusted, HostTrusted, PhaseLogged
from everloop.log import Fact, Projection, Reader, on, visible
from everloop.log.model.record import from_microseconds


class HostTrustTable(Projection):
    """The hosts that the user trusts or distrusts."""

    name = "lesson_hosts"
    tables: ClassVar[tuple[str, ...]] = ("lesson_hosts",)
    schema = """
    CREATE TABLE lesson_hosts (
        position    INTEGER PRIMARY KEY,
        branch      TEXT NOT NULL,
        host        TEXT NOT NULL,
        trusted     INTEGER NOT NULL,
        recorded_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX lesson_hosts_host ON lesson_hosts (host, position);
    """

    @on(HostTrusted, HostDistrusted)
    def _said(self, db: apsw.Connection, new: HostTrusted | HostDistrusted, fact: Fact) -> None:
        trusted = int(isinstance(new, HostTrusted))
        row = (fact.position, fact.branch, new.host, trusted, fact.recorded_us)
        db.execute("INSERT INTO lesson_hosts VALUES (?, ?, ?, ?, ?)", row)


class PhaseTable(Projection):
    """The phases that each task has reached."""

    name = "lesson_phases"
    tables: ClassVar[tuple[str, ...]] = ("lesson_phases",)
    schema = """
    CREATE TABLE lesson_phases (
        position    INTEGER PRIMARY KEY,
        branch      TEXT NOT NULL,
        task_id     TEXT NOT NULL,
        phase       TEXT NOT NULL,
        note        TEXT NOT NULL,
        recorded_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX lesson_phases_task ON lesson_phases (task_id, position);
    """

    @on(PhaseLogged)
    def _logged(self, db: apsw.Connection, new: PhaseLogged, fact: Fact) -> None:
        values = (new.task_id, new.phase, new.note)
        row = (fact.position, fact.branch, *values, fact.recorded_us)
        db.execute("INSERT INTO lesson_phases VALUES (?, ?, ?, ?, ?, ?)", row)


class HostTrust(msgspec.Struct, frozen=True):
    """Whether the user trusts a host, and since when they do or do not."""

    host: str
    trusted: bool
    since: datetime
    position: int

    @property
    def actor(self) -> str:
        """The actor name of the host."""
        return f"agent:{self.host}"


class PhaseEntry(msgspec.Struct, frozen=True):
    """A phase that a task reached."""

    phase: str
    recorded_at: datetime
    note: str


def host_trusts(reader: Reader) -> list[HostTrust]:
    """Every host that the user has trusted or distrusted, by name."""
    return [
        HostTrust(host, bool(trusted), from_microseconds(at), position)
        for host, trusted, at, position in reader.rows(_HOSTS)
    ]


def trusted_actors(reader: Reader) -> dict[str, int]:
    """The trusted actors, each with the position of the fact that granted the trust."""
    return {each.actor: each.position for each in host_trusts(reader) if each.trusted}


def task_phases(reader: Reader, task_id: str) -> list[PhaseEntry]:
    """The phases that a task has reached, in their order."""
    return [
        PhaseEntry(row[0], from_microseconds(row[1]), row[2])
        for row in reader.rows(_PHASES, (task_id,))
    ]


_HOSTS = f"""
SELECT h.host, h.trusted, h.recorded_at, h.position FROM lesson_hosts h
WHERE {visible("h")} AND NOT EXISTS (
    SELECT 1 FROM lesson_hosts n WHERE n.host = h.host AND n.position > h.position
    AND {visible("n")})
ORDER BY h.host
"""  # noqa: S608 - our own condition
_PHASES = f"""
SELECT p.phase, p.recorded_at, p.note FROM lesson_phases p
WHERE p.task_id = ? AND {visible("p")} ORDER BY p.position
"""  # noqa: S608 - our own condition
