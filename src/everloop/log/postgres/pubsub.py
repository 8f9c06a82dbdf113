"""Messages between the nodes of a log that are not kept: at most once, to whoever listens now.

For what is worth something only at once, such as the words of an answer while it is written. They
travel as announcements (NOTIFY) of the server and wait for no disk. Nothing may depend on them: a
message is dropped while the server cannot be reached.
"""

import queue
import threading
from collections.abc import Callable
from contextlib import suppress

import psycopg

from everloop.errors import EverloopError
from everloop.log.postgres.connection import ReconnectingConnection

BYTES_MAX = 7_900  # the server allows 8,000
WAITING_MAX = 1_000  # more than that are dropped

Receive = Callable[[str], None]

# Only for this transaction: a message need not be on the disk before it is sent.
_SEND = "SELECT set_config('synchronous_commit', 'off', true), pg_notify(%s, %s)"


class PostgresNodeMessages:
    """Sends and receives messages. Safe from any thread; `send` never waits."""

    def __init__(self, line: ReconnectingConnection, channel: str) -> None:
        self.channel = channel
        self._line = line
        self._waiting: queue.Queue[str | None] = queue.Queue(WAITING_MAX)
        self._receivers: list[Receive] = []
        self._thread = threading.Thread(target=self._run, name="everloop-messages", daemon=True)
        self._closed = False

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def send(self, text: str) -> None:
        """Send a message to all nodes, this one included."""
        if len(text.encode()) <= BYTES_MAX and not self._closed:
            with suppress(queue.Full):
                self._waiting.put_nowait(text)

    def receive(self, receive: Receive) -> Callable[[], None]:
        """Call a function for each message from now on; the returned function ends it.

        It is called in the thread that follows the log, so it must not wait for anything.
        """
        self._receivers.append(receive)

        def leave() -> None:
            with suppress(ValueError):
                self._receivers.remove(receive)

        return leave

    def deliver(self, text: str) -> None:
        """Hand on a message that arrived."""
        for receive in list(self._receivers):
            receive(text)

    def close(self) -> None:
        """Send what waits, then stop."""
        if self._closed:
            return
        self._closed = True
        if self._thread.is_alive():
            with suppress(queue.Full):
                self._waiting.put(None, timeout=1)
            self._thread.join(1)
        self._line.disconnect()

    def _run(self) -> None:
        while (text := self._waiting.get()) is not None:
            try:
                self._line.connect().execute(_SEND, (self.channel, text))
            except (EverloopError, psycopg.Error):
                self._line.disconnect()
