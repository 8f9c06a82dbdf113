"""PostgreSQL schema of the log: migrations, a partition for each tenant, prepared statements.

`everloop.tenants` has one row for each tenant. Its `head` is the newest position, and its row lock
is the write lock: it is held from before the first read until the commit, so the order of commits
is the order of positions, and readers see a prefix of the log, never a gap.

Triggers refuse to edit or delete records, for every user. Only a purge is allowed, which leaves
nothing of a payload but its seal.
"""

from typing import Final, LiteralString, NamedTuple

from psycopg import sql

from everloop.errors import Corrupt
from everloop.log.postgres.connection import Connection
from everloop.log.schema import COLUMNS

INSERT_ROW_COUNTS = (128, 32, 8, 4, 2, 1)  # row counts for which there is an insert statement
MIGRATION_LOCK = 0x45564C50_0001  # advisory lock for creating tables

_LOG = """
CREATE TABLE everloop.tenants (
    id     integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name   text COLLATE "C" NOT NULL UNIQUE,
    head   bigint NOT NULL DEFAULT 0 CHECK (head >= 0)
) WITH (fillfactor = 20);
CREATE TABLE everloop.log (
    tenant      integer NOT NULL,
    position    bigint NOT NULL CHECK (position > 0),
    stream      text COLLATE "C" NOT NULL,
    branch      text COLLATE "C" NOT NULL,
    version     bigint NOT NULL CHECK (version > 0),
    kind        text COLLATE "C" NOT NULL,
    schema      bigint NOT NULL,
    data        text COLLATE "C",
    actor       text COLLATE "C" NOT NULL,
    because     text COLLATE "C",
    request_id  text COLLATE "C" NOT NULL,
    recorded_at bigint NOT NULL,
    salt        bytea,
    seal        bytea,
    digest      bytea NOT NULL CHECK (octet_length(digest) = 32),
    CHECK ((data IS NULL) = (salt IS NULL) AND (data IS NULL) = (seal IS NOT NULL))
) PARTITION BY LIST (tenant);
CREATE FUNCTION everloop.refuse() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN RAISE EXCEPTION '%', TG_ARGV[0]; END$$;
"""

# Payloads must not get into the server's statistics, where no purge reaches them.
_NO_STATISTICS = "ALTER TABLE everloop.log ALTER COLUMN data SET STATISTICS 0"

MIGRATIONS: tuple[LiteralString, ...] = (_LOG, _NO_STATISTICS)

_PARTITION: Final = """
CREATE TABLE {log} (
    LIKE everloop.log INCLUDING ALL, CHECK (tenant = {id}), PRIMARY KEY (position),
    UNIQUE (stream, branch, version)
);
ALTER TABLE {log} ALTER COLUMN data SET STATISTICS 0;
CREATE TRIGGER log_is_append_only BEFORE DELETE ON {log}
    FOR EACH ROW EXECUTE FUNCTION everloop.refuse('the log is append-only');
CREATE TRIGGER log_is_whole BEFORE TRUNCATE ON {log}
    EXECUTE FUNCTION everloop.refuse('the log is append-only');
CREATE TRIGGER log_is_immutable BEFORE UPDATE ON {log} FOR EACH ROW
    WHEN (new.data IS NOT NULL OR old.data IS NULL
        OR (new.tenant, new.position, new.stream, new.branch, new.version, new.kind, new.schema,
            new.actor, new.because, new.request_id, new.recorded_at, new.digest)
        IS DISTINCT FROM
           (old.tenant, old.position, old.stream, old.branch, old.version, old.kind, old.schema,
            old.actor, old.because, old.request_id, old.recorded_at, old.digest))
    EXECUTE FUNCTION everloop.refuse('a record is never edited; purge erases its payload');
ALTER TABLE everloop.log ATTACH PARTITION {log} FOR VALUES IN ({id});
"""

# Images are already compressed and are read as a whole.
_FILES_TABLE: Final = """
CREATE TABLE IF NOT EXISTS {files} (
    digest   text COLLATE "C" PRIMARY KEY,
    content  bytea NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE {files} ALTER COLUMN content SET STORAGE EXTERNAL;
ALTER TABLE {files} ALTER COLUMN content SET STATISTICS 0;
"""

_ERASE_FILES: Final = """DELETE FROM {files} WHERE digest = ANY(%s)
    OR (digest <> ALL(%s) AND taken_at < now() - make_interval(secs => %s))"""

_LOOK: Final = """SELECT t.head, (SELECT l.digest FROM {log} l WHERE l.position = $1),
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
    FROM everloop.tenants t WHERE t.id = {id}"""
_STATEMENTS: dict[str, LiteralString] = {
    "begin": "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    "look": _LOOK,
    "turn": _LOOK + " FOR UPDATE OF t",
    "news": """SELECT {columns} FROM {log} WHERE position > $1 AND position <= $2
        ORDER BY position""",
    "erase": """UPDATE {log} SET seal = sha256(salt || convert_to(data, 'UTF8')), data = NULL,
        salt = NULL WHERE position = $1 AND data IS NOT NULL""",
    "move": """WITH moved AS (UPDATE everloop.tenants SET head = $1 WHERE id = {id} RETURNING head)
        SELECT pg_notify({channel}, head::text) FROM moved""",
    "commit": "COMMIT",
}


# Not `to_regclass`: its cache may be older than the lock we waited for.
_TABLE_EXISTS = """SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname = %s"""


class DepotStatements(NamedTuple):
    """The SQL statements for a tenant's files."""

    make: bytes
    put: bytes
    get: bytes
    has: bytes
    renew: bytes
    settle: bytes
    drop: bytes
    mark: bytes
    marked: bytes
    scrub: bytes
    unmark: bytes


class TenantStatements(NamedTuple):
    """A tenant's id in the database, and the SQL statements for its tables."""

    id: int
    listen: bytes
    messages: str  # the channel of messages between nodes
    scrub: bytes
    statements: dict[str, bytes]  # to be prepared, by name
    depot: DepotStatements


def find_tenant(db: Connection, name: str) -> TenantStatements:
    """Find a tenant by name, creating the tables and its partition if needed.

    Raises:
        Corrupt: the tables were created by a newer build.
    """
    known = _tenant_id(db, name) if _version(db) == len(MIGRATIONS) else None
    if known is None:
        with db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
            _migrate(db)
            known = _tenant_id(db, name) or _create_tenant(db, name)
    return TenantStatements(
        known,
        listen=_for_tenant("LISTEN {listen}; LISTEN {messages}", known),
        messages=_channel(known, "_messages"),
        scrub=_for_tenant("VACUUM (FULL, ANALYZE) {log}", known),
        statements={
            **{name: _for_tenant(text, known) for name, text in _STATEMENTS.items()},
            **{f"insert {rows}": _insert(rows, known) for rows in INSERT_ROW_COUNTS},
        },
        depot=_file_statements(known),
    )


def _file_statements(number: int) -> DepotStatements:
    return DepotStatements(
        make=_for_tenant(_FILES_TABLE, number),
        put=_for_tenant(
            "INSERT INTO {files} (digest, content) VALUES (%s, %s) ON CONFLICT DO NOTHING", number
        ),
        get=_for_tenant("SELECT content FROM {files} WHERE digest = %s", number),
        has=_for_tenant("SELECT digest FROM {files} WHERE digest = %s", number),
        renew=_for_tenant("UPDATE {files} SET taken_at = now() WHERE digest = %s", number),
        settle=_for_tenant(
            "UPDATE {files} SET taken_at = '-infinity' WHERE digest = ANY(%s)", number
        ),
        drop=_for_tenant(_ERASE_FILES, number),
        mark=_for_tenant("COMMENT ON TABLE {files} IS 'to be scrubbed'", number),
        marked=_for_tenant("SELECT obj_description(to_regclass({named}), 'pg_class')", number),
        scrub=_for_tenant("VACUUM (FULL, ANALYZE) {files}", number),
        unmark=_for_tenant("COMMENT ON TABLE {files} IS NULL", number),
    )


def _insert(rows: int, number: int) -> bytes:
    """An insert of several rows at once, which is faster than several inserts."""
    width = len(COLUMNS.split(","))
    places = [range(row * width + 1, (row + 1) * width + 1) for row in range(rows)]
    lines = [f"({number}, {', '.join(f'${at}' for at in row)})" for row in places]
    return _for_tenant("INSERT INTO {log} (tenant, {columns}) VALUES ", number) + (
        ", ".join(lines).encode()
    )


def _version(db: Connection) -> int:
    if not db.execute(_TABLE_EXISTS, ("everloop", "migrations")).fetchone():
        return 0
    row = db.execute("SELECT max(number) FROM everloop.migrations").fetchone()
    version = int(row[0]) if row and row[0] else 0
    if version > len(MIGRATIONS):
        raise Corrupt(
            f"the log was written by a newer Everloop (format {version})",
            hint="Upgrade Everloop on this machine.",
        )
    return version


def _migrate(db: Connection) -> None:
    version = _version(db)
    if not version:
        if not db.execute("SELECT FROM pg_namespace WHERE nspname = 'everloop'").fetchall():
            db.execute("CREATE SCHEMA everloop")
        db.execute(
            "CREATE TABLE everloop.migrations ("
            " number integer PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT now())"
        )
    for number, migration in enumerate(MIGRATIONS[version:], version + 1):
        db.execute(migration)
        db.execute("INSERT INTO everloop.migrations (number) VALUES (%s)", (number,))


def _tenant_id(db: Connection, name: str) -> int | None:
    row = db.execute("SELECT id FROM everloop.tenants WHERE name = %s", (name,)).fetchone()
    return int(row[0]) if row else None


def _create_tenant(db: Connection, name: str) -> int:
    row = db.execute(
        "INSERT INTO everloop.tenants (name) VALUES (%s) RETURNING id", (name,)
    ).fetchone()
    assert row is not None, "an insert returns its row"
    number = int(row[0])
    db.execute(_for_tenant(_PARTITION, number))
    return number


def _channel(number: int, purpose: str = "") -> str:
    return f"everloop_{number}{purpose}"


def _for_tenant(text: LiteralString, number: int) -> bytes:
    return (
        sql.SQL(text)
        .format(
            id=sql.Literal(number),
            log=sql.Identifier("everloop", f"log_{number}"),
            files=sql.Identifier("everloop", f"files_{number}"),
            named=sql.Literal(f"everloop.files_{number}"),
            columns=sql.SQL(COLUMNS),
            channel=sql.Literal(_channel(number)),
            listen=sql.Identifier(_channel(number)),
            messages=sql.Identifier(_channel(number, "_messages")),
        )
        .as_bytes()
    )
