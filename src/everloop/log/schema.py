"""SQL schema of a log file: the log table, snapshots, and the application id of the file.

The log table has migrations, numbered by their place in one list. Views have none: they are dropped
and folded again.
"""

APPLICATION_ID = 0x45564C50  # "EVLP", by which `file` and we recognise a log

COLUMNS = (
    "position, stream, branch, version, kind, schema, data, actor, because, request_id,"
    " recorded_at, salt, seal, digest"
)

_LOG = """
CREATE TABLE log (
    position    INTEGER PRIMARY KEY,
    stream      TEXT NOT NULL,
    branch      TEXT NOT NULL,
    version     INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    schema      INTEGER NOT NULL,
    data        TEXT,
    actor       TEXT NOT NULL,
    because     TEXT,
    request_id  TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    salt        BLOB,
    seal        BLOB,
    digest      BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX log_stream ON log (stream, branch, version);
CREATE INDEX log_request ON log (request_id);
CREATE TRIGGER log_is_append_only BEFORE DELETE ON log
BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER log_is_immutable BEFORE UPDATE ON log
WHEN new.data IS NOT NULL OR new.seal IS NULL OR new.digest <> old.digest
    OR new.position <> old.position OR new.stream <> old.stream OR new.branch <> old.branch
BEGIN SELECT raise(ABORT, 'a record is never edited; purge erases its payload'); END;
CREATE TABLE snapshots (
    fold     TEXT NOT NULL,
    stream   TEXT NOT NULL,
    branch   TEXT NOT NULL,
    version  INTEGER NOT NULL,
    position INTEGER NOT NULL,
    hidden   TEXT NOT NULL,
    state    BLOB NOT NULL,
    PRIMARY KEY (fold, stream, branch, version)
) STRICT, WITHOUT ROWID;
"""

# Request ids that the log generated are not indexed: only their own append ever looks them up.
OWN_REQUEST_PREFIX = "~"
CALLER_REQUESTS = f"request_id NOT GLOB '{OWN_REQUEST_PREFIX}*'"

_REQUESTS = f"""
DROP INDEX log_request;
CREATE INDEX log_request ON log (request_id) WHERE {CALLER_REQUESTS};
"""

MIGRATIONS: tuple[str, ...] = (_LOG, _REQUESTS)
