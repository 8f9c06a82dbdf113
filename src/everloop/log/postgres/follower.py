"""Replication: brings what other nodes append into this node's copy within milliseconds.

The server announces each commit with NOTIFY. An announcement only says that there is something to
fetch, so a lost one costs only time: the follower also polls, and after every reconnect. It never
gives up; while the server is unreachable, reads continue from the copy.

It also repairs the copy: a deleted, damaged or foreign file is filled again from the server, and
text that another node purged is scrubbed from the file here as well.
"""

import os
import selectors
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import apsw

from everloop.errors import Corrupt, EverloopError, Unavailable
from everloop.log.log import Log
from everloop.log.postgres.connection import Connection, ReconnectingConnection
from everloop.log.postgres.schema import TenantStatements
from everloop.log.read.reader import Reader
from everloop.log.replica_lag import SyncPoint, SyncPointFile
from everloop.log.sql_rows import query_int
from everloop.log.write.append import Replica
from everloop.ports import SystemPorts

LOOK_EVERY_S = 1.0
BREATH_S = 0.004
PAUSE_MIN_S = 0.05
PAUSE_MAX_S = 2.0

_NEWEST_PURGE = "SELECT max(position) FROM log_retractions WHERE everywhere"


class CatchUp(Protocol):
    """Copies missing records into a copy, in its transaction; returns whether it is up to date."""

    def __call__(self, copy: Replica, *, at_once: bool) -> bool:
        """Copy all missing records, or one page."""
        ...


class ReplicaFollower:
    """A thread with its own connection that listens for new records at the server."""

    def __init__(
        self,
        log: Log,
        catch_up: CatchUp,
        line: ReconnectingConnection,
        tenant: TenantStatements,
        ports: SystemPorts,
    ) -> None:
        self.deliver: Callable[[str], None] = _ignore  # what becomes of messages of other nodes
        self._log = log
        self._catch_up = catch_up
        self._line = line
        self._tenant = tenant
        self._entropy, self._clock = ports.entropy, ports.clock
        self._scrub_mark = Path(f"{log.file.path}.scrubbed")
        self._level = SyncPointFile(log.file.path)
        self._checked = 0  # position up to which nothing is left to scrub
        self._failures = 0
        self._tried = threading.Event()  # set after the first attempt to follow
        self._closed = threading.Event()
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(target=self._run, name="everloop-follower", daemon=True)
        self._problem: Exception | None = None

    def start(self) -> None:
        """Bring the copy up to date, then follow."""
        self._pull()
        self._note_level()
        self._thread.start()

    def close(self) -> None:
        """Stop following."""
        if self._closed.is_set():
            return
        self._closed.set()
        os.write(self._wake_write, b"!")
        if self._thread.is_alive():
            self._thread.join()
        self._line.disconnect()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def problem(self) -> EverloopError | None:
        """Why replication does not work now; None if it works."""
        self._tried.wait(LOOK_EVERY_S)
        problem = self._problem
        if problem is None:
            return None
        return Unavailable(
            "what other nodes append does not arrive here, though this node's own appends may work:"
            f" {problem}",
            hint=getattr(problem, "hint", "") or "Check the server's log; Everloop keeps trying.",
        )

    def mark_scrubbed(self) -> None:
        """Record that the file was scrubbed after the newest purge in it."""
        self._scrub_mark.write_text(str(self._newest_purge()))

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                self._follow()
            except Exception as problem:  # noqa: BLE001 - the thread's outermost frame
                self._problem = problem
                self._tried.set()
                self._line.disconnect()
                self._closed.wait(self._pause_s())
                self._failures += 1

    def _follow(self) -> None:
        """Follow until something fails or `close` is called."""
        db = self._line.connect()
        db.execute(self._tenant.listen)
        self._pull()  # what was announced before we listened
        self._failures, self._problem = 0, None
        self._tried.set()
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake_read, selectors.EVENT_READ)
            selector.register(db.fileno(), selectors.EVENT_READ)
            next_poll = time.monotonic() + LOOK_EVERY_S
            while not self._closed.is_set():
                selector.select(max(0.0, next_poll - time.monotonic()))
                due = time.monotonic() >= next_poll
                if due:
                    db.execute(b"SELECT")  # so that a dead connection is noticed
                    next_poll = time.monotonic() + LOOK_EVERY_S
                announced = self._announced(db)
                if announced > self._log.transactions.head or due:
                    self._pull(0 if due else announced)
                if due:
                    self._note_level()
                self._closed.wait(BREATH_S)  # announcements in this time are fetched together

    def _announced(self, db: Connection) -> int:
        """The newest position that was announced; messages between nodes are handed on."""
        newest = 0
        for note in db.notifies(timeout=0):
            if note.channel == self._tenant.messages:
                self.deliver(note.payload)
            else:
                newest = max(newest, int(note.payload))
        return newest

    def _pull(self, announced: int = 0) -> None:
        """Bring the copy up to date, one page at a time, so that writers can run in between.

        An append of this node that was waited for may have brought what was announced already.
        """
        level = False
        while not level and not self._closed.is_set():
            with self._log.commit_queue.write_lock:
                level = 0 < announced <= self._log.transactions.head or self._adopt_page()
                head = self._log.transactions.head
                if head != self._checked:
                    self._log.notify_followers(head)
                    self._log.maintenance.note_commit(head)
        self._scrub_if_due()

    def _note_level(self) -> None:
        self._level.save(SyncPoint(self._clock.now(), self._log.transactions.head))

    def _adopt_page(self) -> bool:
        scribe = self._log.transactions

        def act(_: Reader) -> bool:
            return self._catch_up(scribe, at_once=False)

        try:
            return scribe.transaction(act)
        except Corrupt as problem:
            if not isinstance(problem.__cause__, apsw.Error | UnicodeDecodeError):
                raise  # the damage is not in the local file
        scribe.close()
        self._log.file.discard()
        return scribe.transaction(act)

    def _scrub_if_due(self) -> None:
        head = self._log.transactions.head
        if head == self._checked:
            return
        if self._newest_purge() > self._read_scrub_mark():
            with self._log.commit_queue.write_lock:
                self._log.transactions.close()
                self._log.maintenance.scrub()
            self._log.maintenance.clean_after_remote_purge()
            self.mark_scrubbed()
        self._checked = head

    def _newest_purge(self) -> int:
        with self._log.file.reading() as reader:
            return query_int(reader.db, _NEWEST_PURGE)

    def _read_scrub_mark(self) -> int:
        try:
            return int(self._scrub_mark.read_text())
        except (OSError, ValueError):
            return 0

    def _pause_s(self) -> float:
        """Seconds to wait before the next try: exponential backoff with jitter."""
        jitter = 0.5 + self._entropy.draw(1)[0] / 510
        return jitter * min(PAUSE_MIN_S * 2.0 ** min(self._failures, 16), PAUSE_MAX_S)


def _ignore(message: str) -> None:
    """Nobody here is interested in messages."""
    del message
