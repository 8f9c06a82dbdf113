"""Beside `eventsourcing`, the best known library of its kind for Python, on SQLite in a file.

It is used as its documentation shows: an aggregate, an application, the default transcoder. The
aggregate stays in memory between saves, which is the fastest way to use it.

Same durability: it turns WAL on by itself, but leaves `synchronous` to however SQLite was built.
Here its connection is set to FULL, and both are read back before and after a comparison.
"""

from pathlib import Path
from uuid import UUID

import msgspec
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event
from eventsourcing.sqlite import SQLiteFactory

from bench.appends import appends
from bench.comparison import Claim, Outcome, compare, faster, require, steady
from bench.material import messages
from bench.replays import replays
from bench.run_folder import RunFolder, fill

LIBRARY = "eventsourcing"
BATCH = 500
FULL = 2  # what SQLite calls it


class Conversation(Aggregate):
    """The same tally as ours, in the library's own style."""

    @event("Started")
    def __init__(self) -> None:
        self.messages = 0
        self.words = 0
        self.newest = ""

    @event("MessageSent")
    def send(  # noqa: PLR0913 - the library makes the event's fields of these
        self,
        message_id: str,
        author: str,  # noqa: ARG002
        device: str,  # noqa: ARG002
        text: str,  # noqa: ARG002
        words: int,
        in_reply_to: int,  # noqa: ARG002
        mentions: tuple[str, ...],  # noqa: ARG002
    ) -> None:
        """Someone said something."""
        self.messages += 1
        self.words += words
        self.newest = message_id


class Peer:
    """An application of the library on a new file."""

    def __init__(self, path: Path) -> None:
        self._app: Application[UUID] = Application(
            env={"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(path)}
        )
        self._said = messages()
        self._conversation = Conversation()
        with self._factory.datastore.get_connection(commit=True) as connection:
            connection.cursor().execute("PRAGMA synchronous = FULL")  # one thread: always this one
        self.check_durable()
        self._app.save(self._conversation)

    def check_durable(self) -> None:
        """Make sure that the connection in use waits for the disk."""
        with self._factory.datastore.get_connection(commit=True) as connection:
            cursor = connection.cursor()
            cursor.execute("PRAGMA synchronous")
            require(cursor.fetchone()[0] == FULL, "the library does not wait for the disk")
            cursor.execute("PRAGMA journal_mode")
            require(cursor.fetchone()[0] == "wal", "the library does not write ahead")

    def say(self, count: int) -> int:
        """Save so many new events in one transaction."""
        for _ in range(count):
            self._conversation.send(**msgspec.structs.asdict(next(self._said)))
        self._app.save(self._conversation)
        return count

    def replay(self) -> int:
        """Build the aggregate anew from its events."""
        found: Conversation = self._app.repository.get(self._conversation.id)
        return found.messages

    @property
    def _factory(self) -> SQLiteFactory:
        factory = self._app.factory
        if not isinstance(factory, SQLiteFactory):
            raise TypeError("the library did not choose SQLite")
        return factory


def single(run: RunFolder) -> Outcome:
    """One event, one commit."""
    return _writing(run, "peer-append", 1, goal=1.5)


def batched(run: RunFolder) -> Outcome:
    """Many events, one commit."""
    return _writing(run, "peer-batch", BATCH, goal=4)


def replay(run: RunFolder) -> Outcome:
    """A stream from the file into its state."""
    events = run.scale.replayed // 10
    claim = Claim(
        "peer-replay", f"replay of {events:,} events", LIBRARY, "events/s", "at least", goal=8
    )
    log, peer = run.open(), Peer(run.path("peer"))
    fill(log, events)
    peer.say(events)
    require(peer.replay() == events, "the library lost something")
    return faster(claim, compare(replays(log), steady(peer.replay), **run.pace(share=0.2)))


def _writing(run: RunFolder, name: str, batch: int, *, goal: float) -> Outcome:
    title = f"durable appends of {batch} events" if batch > 1 else "durable append, one event"
    note = "both WAL and synchronous=FULL; the library's was set by us and read back"
    claim = Claim(name, title, LIBRARY, "events/s", "at least", goal, note)
    peer = Peer(run.path("peer"))
    ours = appends(run.open(), batch=batch)
    rounds = compare(ours, steady(lambda: peer.say(batch)), **run.writing_pace())
    peer.check_durable()
    return faster(claim, rounds)
