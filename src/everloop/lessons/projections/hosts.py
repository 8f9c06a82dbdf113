"""The projections of hosts: which ones the user trusts, and the phases of their tasks."""

from datetime import datetime
from typing import ClassVar

import apsw
import msgspec

from everloop.lessons.model.events import HostDistrusted, HostTrusted, PhaseLogged, WordsHeard
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


class HeardWordsTable(Projection):
    """What the user said to trusted hosts, as doors heard it."""

    name = "host_words"
    tables: ClassVar[tuple[str, ...]] = ("host_words",)
    schema = """
    CREATE TABLE host_words (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        actor    TEXT NOT NULL,
        session  TEXT NOT NULL,
        text     TEXT NOT NULL
    ) STRICT;
    """

    @on(WordsHeard)
    def _heard(self, db: apsw.Connection, new: WordsHeard, fact: Fact) -> None:
        row = (fact.position, fact.branch, fact.actor, new.session, new.text)
        db.execute("INSERT INTO host_words VALUES (?, ?, ?, ?, ?)", row)


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


def find_heard_words(reader: Reader, quote: str) -> dict[str, int]:
    """For each host, the newest message to it that contains a quote.

    Space does not matter. A quote of a single word must be the whole message.
    """
    words = quote.split()
    if not words:
        return {}
    found = reader.rows(_HEARD_EXACTLY if len(words) == 1 else _HEARD, (" ".join(words),))
    return dict(found)


def task_phases(reader: Reader, task_id: str, actor: str = "") -> list[PhaseEntry]:
    """The phases that a task has reached, in their order; with an actor, those that it logged."""
    first: dict[str, PhaseEntry] = {}
    for phase, recorded_us, note in reader.rows(_PHASES, (task_id, actor)):
        first.setdefault(phase, PhaseEntry(phase, from_microseconds(recorded_us), note))
    return list(first.values())


_HOSTS = f"""
SELECT h.host, h.trusted, h.recorded_at, h.position FROM lesson_hosts h
WHERE {visible("h")} AND NOT EXISTS (
    SELECT 1 FROM lesson_hosts n WHERE n.host = h.host AND n.position > h.position
    AND {visible("n")})
ORDER BY h.host
"""  # noqa: S608 - our own condition
_HEARD_WHERE = f"SELECT w.actor, max(w.position) FROM host_words w WHERE {visible('w')}"  # noqa: S608
_HEARD = f"{_HEARD_WHERE} AND instr(w.text, ?) > 0 GROUP BY w.actor"
_HEARD_EXACTLY = f"{_HEARD_WHERE} AND rtrim(w.text, '.!? ') = rtrim(?, '.!? ') GROUP BY w.actor"
_PHASES = f"""
SELECT p.phase, p.recorded_at, p.note FROM lesson_phases p
JOIN log l ON l.position = p.position
WHERE p.task_id = ?1 AND ?2 IN ('', l.actor) AND {visible("p")} ORDER BY p.position
"""  # noqa: S608 - our own condition
