"""A PostgreSQL connection that reconnects by itself.

It sets what must not depend on the server's configuration: commits wait for the disk, lock waits
are bounded, and a node that stalls inside a transaction loses it. It also translates the driver's
errors into ours, each with a hint.
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
from everloop.ports import BusyHandler

T = TypeVar("T")
Connection: TypeAlias = psycopg.Connection[TupleRow]

TRIES_MAX = 5
OLDEST_SERVER = 140000  # `idle_session_timeout` exists since version 14
STALLED_AFTER_S = 5.0  # an idle writer loses its transaction after this time

# Detect a dead server or network within seconds. Settings in the URL take precedence.
_CONNECT_DEFAULTS = {
    "application_name": "everloop",
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
_SESSION_SETTINGS = """
SELECT set_config('lock_timeout', %s, false),
    set_config('idle_in_transaction_session_timeout', %s, false),
    set_config('idle_session_timeout', %s, false),
    set_config('statement_timeout', '0', false),
    set_config('client_min_messages', 'warning', false),
    CASE WHEN current_setting('synchronous_commit') = 'off'
         THEN set_config('synchronous_commit', 'on', false) END
"""


class ReconnectingConnection:
    """One connection, opened on demand and reopened when it broke. Not thread-safe."""

    def __init__(self, url: str, patience: BusyHandler, *, lock_wait_s: float) -> None:
        self.place = _display_name(url)
        self._url = url
        self._patience = patience
        self._lock_wait_s = lock_wait_s
        self.idle_max_s = 0.0  # the server closes an idle session after this time; 0: never
        self._db: Connection | None = None
        self._reachable = False  # whether the last attempt to connect succeeded

    def connect(self) -> Connection:
        """The open connection; if it broke, reconnect for as long as `patience` allows.

        Raises:
            Unavailable: the server cannot be reached, or refuses the login.
        """
        if self._db is not None and not self._db.closed:
            return self._db
        tries = 0
        while True:
            try:
                self._db = self._connect()
                self._reachable = True
            except psycopg.Error as problem:
                # After one timeout, do not wait again until the server was reachable once.
                if _is_permanent(problem) or not self._reachable or not self._patience(tries):
                    self._reachable = False
                    raise self.translate_error(problem) from problem
                tries += 1
            else:
                return self._db

    def run_with_retry(self, act: Callable[[Connection], T]) -> T:
        """Run an idempotent function; if the connection breaks, run it again on a new one.

        Raises:
            Unavailable: the server cannot be reached, or refuses.
        """
        for tries in count(1):
            db = self.connect()
            try:
                return act(db)
            except psycopg.Error as problem:
                if not db.closed or tries == TRIES_MAX:
                    raise self.translate_error(problem) from problem
        raise AssertionError("it returns or raises")

    def roll_back(self) -> None:
        """Roll back the open transaction, if any."""
        db = self._db
        if db is None or db.info.transaction_status == TransactionStatus.IDLE:
            return
        try:
            db.execute(b"ROLLBACK")
        except psycopg.Error:
            self.disconnect()

    def disconnect(self) -> None:
        """Close the connection, and with it any open transaction."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def translate_error(self, problem: psycopg.Error) -> EverloopError:
        """Translate a driver error into ours, with a hint."""
        return _translate(problem, self.place)

    def _connect(self) -> Connection:
        # The driver must not prepare statements: after a rollback it would drop ours with its own.
        db = psycopg.connect(
            make_conninfo(**{**_CONNECT_DEFAULTS, **_url_options(self._url)}),
            autocommit=True,
            prepare_threshold=None,
        )
        try:
            self._apply_settings(db)
        except BaseException:
            db.close()
            raise
        return db

    def _apply_settings(self, db: Connection) -> None:
        if db.info.server_version < OLDEST_SERVER:
            raise psycopg.NotSupportedError("PostgreSQL is older than 14")
        lock_wait_ms = max(1, round(self._lock_wait_s * 1000))  # 0 would mean no limit
        waits = (f"{lock_wait_ms}ms", f"{STALLED_AFTER_S}s", f"{self.idle_max_s}s")
        db.execute(_SESSION_SETTINGS, waits)


def _display_name(url: str) -> str:
    """Database and host of a URL, without the password."""
    try:
        given = _url_options(url)
    except psycopg.ProgrammingError as problem:
        raise Invalid(
            "the PostgreSQL address is not valid",
            hint="Use the form postgresql://user:password@host:5432/database",
        ) from problem
    host = given.get("host") or given.get("hostaddr") or "this machine"
    return f"{given.get('dbname') or given.get('user') or 'the database'!r} on {host}"


def _url_options(url: str) -> dict[str, str]:
    return {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}


_REFUSALS: tuple[tuple[str, str, str], ...] = (
    (
        r"password authentication failed|no password supplied|SCRAM|no pg_hba\.conf entry",
        "refused the login: the user or password is wrong",
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
        "is older than version 14",
        "Use PostgreSQL 14 or newer.",
    ),
    (
        r"too many clients|remaining connection slots",
        "has no free connections",
        "Raise `max_connections` on the server, or stop other clients.",
    ),
)
_SQLSTATE_MESSAGES: dict[str, tuple[str, str]] = {
    "55P03": (
        "another node has been writing for too long",
        "Try again; if that does not help, look for a stuck `everloop` process.",
    ),
    "53100": ("the server's disk is full; nothing was lost", "Free some space on the server."),
    "25006": (
        "the server is a read-only standby",
        "Use the address of the primary server.",
    ),
    "42501": (
        "the database user has no permission for this",
        "As the database owner, run: GRANT CREATE, CONNECT ON DATABASE … TO …",
    ),
}


def _is_permanent(problem: psycopg.Error) -> bool:
    """Whether connecting again cannot help."""
    return any(re.search(words, str(problem)) for words, _, _ in _REFUSALS[:-1])


def _translate(problem: psycopg.Error, place: str) -> EverloopError:
    words = str(problem)
    match problem:
        case psycopg.errors.CharacterNotInRepertoire() | psycopg.errors.UntranslatableCharacter():
            return Invalid(
                "a name contains a character that cannot be stored",
                hint="Remove NUL characters.",
            )
        case psycopg.DataError():
            return Invalid(
                f"the server cannot store this: {words}", hint="Remove or change that value."
            )
        case psycopg.IntegrityError() | psycopg.errors.RaiseException():
            return Corrupt(
                f"the log in {place} refused a record: {words}",
                hint="Run `everloop verify` before you continue.",
            )
        case psycopg.errors.UndefinedTable() | psycopg.errors.InvalidSchemaName():
            return Corrupt(
                f"the tables of the log in {place} are missing",
                hint="Restore the database from its backup.",
            )
        case _ if problem.sqlstate in _SQLSTATE_MESSAGES:
            message, hint = _SQLSTATE_MESSAGES[problem.sqlstate]
            return Unavailable(message, hint=hint)
        case _:
            return _translate_refusal(words, place)


def _translate_refusal(words: str, place: str) -> Unavailable:
    for pattern, message, hint in _REFUSALS:
        if re.search(pattern, words):
            return Unavailable(f"the PostgreSQL server for {place} {message}", hint=hint)
    return Unavailable(
        f"the PostgreSQL server for {place} does not answer: {words.splitlines()[0]}",
        hint="Check that it runs and that the address is right; Everloop reconnects by itself.",
    )
