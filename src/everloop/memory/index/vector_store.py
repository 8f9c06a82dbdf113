"""Vector store: embeddings on disk in a SQLite file of their own; a cache that may be deleted.

Vectors are stored by model and passage, with the digest of the text each was made from. A damaged
file is deleted as soon as that is noticed; every process that has it open then switches to the new
file.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

import apsw

from everloop.errors import Unavailable
from everloop.log.sql_rows import Row, close_quietly, query_int, query_rows
from everloop.log.sqlite.errors import translate_sqlite_error
from everloop.log.sqlite.file import delete_log_file, inode
from everloop.memory.index.snapshot import IndexSnapshot
from everloop.memory.text.passages import PASSAGES_MAX

SCAN_FROM = 2_000  # vectors wanted at once, from which on reading all of a range is faster

Vector = tuple[int, bytes, bytes]  # a passage, the digest of its text, and the vector of that

T = TypeVar("T")

DAMAGED = (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError)

# Vectors are sorted by passage, so new ones go to the end of the file. Sorted by the digests of
# texts, each would cost a page anywhere in the file.
ROOM = 2**44  # places reserved for each model
_SETTINGS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = 1"
_SCHEMA = """
DROP TABLE IF EXISTS vectors;
DROP TABLE IF EXISTS kept;
CREATE TABLE IF NOT EXISTS models (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE IF NOT EXISTS placed (
    place  INTEGER PRIMARY KEY,
    digest BLOB NOT NULL,
    vector BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS carried_out (purge BLOB NOT NULL) STRICT;
"""
_ONE = "SELECT ?2, digest, vector FROM placed WHERE place = ?1 + ?2"
_MANY = "SELECT place - ?1, digest, vector FROM placed WHERE place BETWEEN ?1 + ?2 AND ?1 + ?3"
_KNOWN = "SELECT place - ?1, digest FROM placed WHERE place BETWEEN ?1 + ?2 AND ?1 + ?3"
_FORGET = "DELETE FROM placed WHERE place >= ?1 AND place < ?2"


class VectorCache:
    """Vectors on disk, by model and passage. Losing it costs only the time to embed again.

    Each has the digest of the text it was made from: if the passage has another text by now, as in
    a restored log, the vector does not count. The file is opened on first use, so whatever needs no
    vectors works without it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._first_places: dict[str, int] = {}  # first place of each model
        self._db: apsw.Connection | None = None
        self._opened_count = self._inode = 0  # how often the file was opened, and its inode

    def load(self, model: str, wanted: Mapping[int, bytes]) -> dict[int, bytes]:
        """The vectors of passages whose texts have these digests, in half precision."""
        kept = self._run(lambda db: self._select(db, model, wanted))
        there = {p: vector for p, digest, vector in kept if wanted.get(p) == digest}
        return {passage: there[passage] for passage in wanted if passage in there}

    def stored_passages(self, model: str, wanted: Mapping[int, bytes]) -> set[int]:
        """Those of a range of passages that have a vector of their current text."""

        def found(db: apsw.Connection) -> list[Row]:
            first = self._first_place(db, model)
            bounds = (first, min(wanted), max(wanted))
            return query_rows(db, _KNOWN, bounds) if first else []

        return {passage for passage, digest in self._run(found) if wanted.get(passage) == digest}

    def _select(self, db: apsw.Connection, model: str, wanted: Mapping[int, bytes]) -> list[Row]:
        """The stored vectors of some passages; if many are wanted, of all between them as well."""
        first = self._first_place(db, model)
        if not first:
            return []
        if len(wanted) > SCAN_FROM:
            return query_rows(db, _MANY, (first, min(wanted), max(wanted)))
        asked = [(first, passage) for passage in wanted]
        return db.executemany(_ONE, asked).fetchall()

    def _first_place(self, db: apsw.Connection, model: str) -> int:
        """The first place of a model; 0 if it has no vectors."""
        if model not in self._first_places:
            found = query_int(db, "SELECT number FROM models WHERE name = ?", (model,))
            if not found:
                return 0
            self._first_places[model] = ROOM * found
        return self._first_places[model]

    @property
    def snapshot(self) -> IndexSnapshot:
        """The snapshot file for arrays made from these vectors."""
        return IndexSnapshot(self._path.with_suffix(".arrays"))

    def change_marker(self) -> tuple[int, int]:
        """A marker that stays equal as long as no other process writes.

        Its first number stays equal as long as the file is the same one.
        """
        return self._run(lambda db: (self._opened_count, db.data_version()))

    def save(self, model: str, vectors: Sequence[Vector]) -> None:
        """Store vectors in half precision.

        Raises:
            Unavailable: they cannot be written, for example because the disk is full.
        """

        def write(db: apsw.Connection) -> None:
            if model not in self._first_places:
                db.execute("INSERT OR IGNORE INTO models (name) VALUES (?)", (model,))
            first = self._first_place(db, model)
            kept = [(first + passage, digest, vector) for passage, digest, vector in vectors]
            with db if len(kept) > 1 else nullcontext():
                db.executemany("REPLACE INTO placed VALUES (?, ?, ?)", kept)

        self._run(write)

    def delete(self, model: str, passages: Iterable[int]) -> None:
        """Delete damaged vectors, so that they are made again."""

        def delete(db: apsw.Connection) -> None:
            first = self._first_place(db, model)
            with db:
                places = [(first + passage,) for passage in passages]
                db.executemany("DELETE FROM placed WHERE place = ?", places)

        self._run(delete)

    def last_purge(self) -> bytes | None:
        """The digest of the newest purge that was carried out on this file, if there was one."""
        found = self._run(lambda db: query_rows(db, "SELECT purge FROM carried_out"))
        return found[0][0] if found else None

    def purge(self, positions: Sequence[int], purge: bytes | None = None) -> None:
        """Delete the vectors of purged facts, of every model, and the snapshot made from them.

        `purge` is the digest of the newest purge that this carries out.
        """
        self.snapshot.delete()

        def delete(db: apsw.Connection) -> None:
            with db:
                for (model,) in query_rows(db, "SELECT number FROM models"):
                    places = [model * ROOM + position * PASSAGES_MAX for position in positions]
                    db.executemany(_FORGET, [(at, at + PASSAGES_MAX) for at in places])
                if purge is not None:
                    db.execute("DELETE FROM carried_out")
                    db.execute("INSERT INTO carried_out VALUES (?)", (purge,))
            query_rows(
                db, "PRAGMA wal_checkpoint(TRUNCATE)"
            )  # leaves no copy in the write-ahead log

        self._run(delete)

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()

    def _run(self, work: Callable[[apsw.Connection], T]) -> T:
        """The result of some work on the file. If the file is damaged, retries with a new one.

        Raises:
            Unavailable: the disk failed or is full.
        """
        with self._lock:
            try:
                try:
                    return work(self._open())
                except DAMAGED:
                    self._delete_damaged()
                    return work(self._open())
            except (apsw.Error, UnicodeDecodeError) as problem:
                raise translate_sqlite_error(problem, self._path) from problem
            except OSError as problem:
                message = f"{self._path.name} is damaged and cannot be deleted: {problem.strerror}"
                raise Unavailable(
                    message, hint="Delete the file by hand; the vectors are made again."
                ) from problem

    def _open(self) -> apsw.Connection:
        if self._db is not None and inode(self._path) != self._inode:
            self._disconnect()  # the file was deleted or replaced
        if self._db is None:
            self._delete_leftovers()
            self._db = self._connect()
            self._opened_count += 1
        return self._db

    def _connect(self) -> apsw.Connection:
        db = apsw.Connection(str(self._path))
        self._inode = inode(self._path)
        try:
            db.set_busy_timeout(5_000)
            query_rows(
                db, _SETTINGS
            )  # fetch all rows, else SQLite stops after the first statement that has one
            db.execute(_SCHEMA)
        except apsw.Error:
            close_quietly(db)
            raise
        return db

    def _disconnect(self) -> None:
        if self._db is not None:
            close_quietly(self._db)
        self._db = None
        self._first_places.clear()

    def _delete_damaged(self) -> None:
        """Delete the damaged file, unless another process already replaced it."""
        self._disconnect()
        if inode(self._path) == self._inode:
            delete_log_file(self._path)

    def _delete_leftovers(self) -> None:
        """Delete the WAL and shared memory that a deleted database file left.

        A process that still has the old file open keeps using it, and a new file must share nothing
        with it.
        """
        beside = [Path(f"{self._path}{end}") for end in ("-wal", "-shm")]
        left = [path for path in beside if path.exists()]
        if (
            not self._path.exists()
        ):  # checked after listing: files beside a new database are its own
            for path in left:
                path.unlink(missing_ok=True)
