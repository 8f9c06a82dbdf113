"""A line to the PostgreSQL server: one connection that comes back by itself.

It settles what must not depend on how the server was set up: commits wait for the disk, no wait for
a lock is endless, and a node that stalls inside a transaction loses it. And it turns the driver's
errors into ours, each with the next step.
"""

import re
from collections.abc import Callable
from itertools import count
from typing import TypeAlias, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow

from everloop.errors import Corrupt, EverloopError, Invalid, Unavailable
from everloop.ports import Patience

T = TypeVar("T")
Connection: TypeAlias = psycopg.Connection[TupleRow]

TRIES_MAX = 5
OLDEST_SERVER = 140000  # `idle_session_timeout` came with 14
STALLED_AFTER_S = 5.0  # a writer that says nothing for so long inside its turn loses the turn

# A dead server or a cut cable is noticed within seconds. What the address says otherwise holds.
_DIAL = {
    "application_name": "everloop",
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
_SETTLE = """
SELECT set_config('lock_timeout', %s, false),
    set_config('idle_in_transaction_session_timeout', %s, false),
    set_config('idle_session_timeout', %s, false),
    set_config('statement_timeout', '0', false),
    set_config('client_min_messages', 'warning', false),
    CASE WHEN current_setting('synchronous_commit') = 'off'
         THEN set_config('synchronous_commit', 'on', false) END
"""


class Line:
    """One connection, dialled when it is needed and again when it broke. Not for two threads."""

    def __init__(self, url: str, patience: Patience, *, lock_wait_s: float) -> None:
        self.place = _place(url)
        self._url = url
        self._patience = patience
        self._lock_wait_s = lock_wait_s
        self.silent_max_s = 0.0  # after so long a silence the server hangs up; 0: never
        self._db: Connection | None = None
        self._hopeful = False  # whether the server was there when we last looked

    def connected(self) -> Connection:
        """The connection. If it broke, dial again for as long as patience lasts.

        Raises:
            Unavailable: the server cannot be reached, or does not let us in.
        """
        if self._db is not None and not self._db.closed:
            return self._db
        tries = 0
        while True:
            try:
                self._db = self._dial()
                self._hopeful = True
            except psycopg.Error as problem:
                # Who has waited in vain once does not wait again before the server was back.
                if _final(problem) or not self._hopeful or not self._patience(tries):
                    self._hopeful = False
                    raise self.failed(problem) from problem
                tries += 1
            else:
                return self._db

    def insist(self, act: Callable[[Connection], T]) -> T:
        """Do something that may be done twice; if the connection breaks, do it on a new one.

        Raises:
            Unavailable: the server cannot be reached, or refuses.
        """
        for tries in count(1):
            db = self.connected()
            try:
                return act(db)
            except psycopg.Error as problem:
                if not db.closed or tries == TRIES_MAX:
                    raise self.failed(problem) from problem
        raise AssertionError("it returns or raises")

    def roll_back(self) -> None:
        """End the transaction, if one is open, without a trace."""
        db = self._db
        if db is None or db.info.transaction_status == TransactionStatus.IDLE:
            return
        try:
            db.execute(b"ROLLBACK")
        except psycopg.Error:
            self.drop()

    def drop(self) -> None:
        """Let the connection go, and with it whatever transaction was open."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def failed(self, problem: psycopg.Error) -> EverloopError:
        """What a driver's error means to a person."""
        return _meaning(problem, self.place)

    def _dial(self) -> Connection:
        # No preparing by the driver: it would throw ours away with its own after a rollback.
        db = psycopg.connect(
            make_conninfo(**{**_DIAL, **_given(self._url)}), autocommit=True, prepare_threshold=None
        )
        try:
            self._settle(db)
        except BaseException:
            db.close()
            raise
        return db

    def _settle(self, db: Connection) -> None:
        if db.info.server_version < OLDEST_SERVER:
            raise psycopg.NotSupportedError("PostgreSQL is older than 14")
        lock_wait_ms = max(1, round(self._lock_wait_s * 1000))  # 0 would mean for ever
        waits = (f"{lock_wait_ms}ms", f"{STALLED_AFTER_S}s", f"{self.silent_max_s}s")
        db.execute(_SETTLE, waits)


def _place(url: str) -> str:
    """Where the address leads, without anything secret."""
    try:
        given = _given(url)
    except psycopg.ProgrammingError as problem:
        raise Invalid(
            "the PostgreSQL address cannot be read",
            hint="It looks like postgresql://user:password@host:5432/database",
        ) from problem
    host = given.get("host") or given.get("hostaddr") or "this machine"
    return f"{given.get('dbname') or given.get('user') or 'the database'!r} on {host}"


def _given(url: str) -> dict[str, str]:
    return {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}


_REFUSALS: tuple[tuple[str, str, str], ...] = (
    (
        r"password authentication failed|no password supplied|SCRAM|no pg_hba\.conf entry",
        "does not let us in: user or password are wrong",
        "Correct the user and password in the address.",
    ),
    (
        r'role ".*" does not exist',
        "does not know the user of the address",
        "Correct the user in the address, or create it with `createuser`.",
    ),
    (
        r'database ".*" does not exist',
        "has no such database",
        "Correct the name in the address, or create it with `createdb`.",
    ),
    (
        r"resolve host|translate host name",
        "cannot be found: no such host name",
        "Correct the host in the address, or check the network.",
    ),
    (
        r"older than 14",
        "is too old",
        "Use PostgreSQL 14 or newer.",
    ),
    (
        r"too many clients|remaining connection slots",
        "takes no more connections",
        "Raise `max_connections` there, or stop other programs.",
    ),
)
_STATES: dict[str, tuple[str, str]] = {
    "55P03": (
        "another node has been writing for too long",
        "Try again; if it stays so, look for a stuck `everloop` process.",
    ),
    "53100": ("the server's disk is full; nothing was lost", "Free some space there."),
    "25006": (
        "the server only reads: it is a standby",
        "Give the address of the server that writes.",
    ),
    "42501": (
        "the user of the address may not do this",
        "Let the database's owner run: GRANT CREATE, CONNECT ON DATABASE … TO …",
    ),
}


def _final(problem: psycopg.Error) -> bool:
    """Whether dialling again cannot help."""
    return any(re.search(words, str(problem)) for words, _, _ in _REFUSALS[:-1])


def _meaning(problem: psycopg.Error, place: str) -> EverloopError:
    words = str(problem)
    match problem:
        case psycopg.errors.CharacterNotInRepertoire() | psycopg.errors.UntranslatableCharacter():
            return Invalid(
                "a name holds a character that cannot be stored", hint="Leave out NUL characters."
            )
        case psycopg.DataError():
            return Invalid(
                f"the server cannot store this: {words}", hint="Leave out what it names."
            )
        case psycopg.IntegrityError() | psycopg.errors.RaiseException():
            return Corrupt(
                f"the log in {place} refused a record: {words}",
                hint="Run `everloop verify` before writing on.",
            )
        case psycopg.errors.UndefinedTable() | psycopg.errors.InvalidSchemaName():
            return Corrupt(
                f"the tables of the log in {place} are gone",
                hint="Restore the database from its backup.",
            )
        case _ if problem.sqlstate in _STATES:
            message, hint = _STATES[problem.sqlstate]
            return Unavailable(message, hint=hint)
        case _:
            return _refusal(words, place)


def _refusal(words: str, place: str) -> Unavailable:
    for pattern, message, hint in _REFUSALS:
        if re.search(pattern, words):
            return Unavailable(f"the PostgreSQL server for {place} {message}", hint=hint)
    return Unavailable(
        f"the PostgreSQL server for {place} does not answer: {words.splitlines()[0]}",
        hint="Check that it runs and that the address is right; Everloop goes on by itself.",
    )
