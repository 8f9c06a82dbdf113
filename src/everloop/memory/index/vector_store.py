"""The vectors on the disk: a cache in a file of its own, which can be deleted.

By model and passage, with the digest of the text that each was made of. A damaged file is thrown
away, whenever that is found. Whoever has it open meanwhile, in any process, goes on with the file
that is there then.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

import apsw

from everloop.errors import Unavailable
from everloop.log.sql_rows import Row, let_go, number, rows
from everloop.log.sqlite.errors import unavailable
from everloop.log.sqlite.file import delete, inode
from everloop.memory.index.snapshot import Snapshot
from everloop.memory.text.passages import PASSAGES_MAX

SCAN_FROM = 2_000  # vectors wanted at once from which on it is faster to read all there are

Vector = tuple[int, bytes, bytes]  # a passage, the digest of its text, and the vector of that

T = TypeVar("T")

DAMAGED = (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError)

# Vectors lie in the order of their passages, so what comes goes to the end of the file. Sorted by
# the digests of texts, each would cost a page that lies anywhere.
ROOM = 2**44  # passages for which a model has places
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
    """Vectors on disk, by model and passage. Losing it costs only the time to make them again.

    Each stands beside the digest of the text that it was made of: if the passage has another text
    by now, as in a log that was restored, it has no vector. The file is opened when it is first
    used: what needs no vectors goes on without it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._first: dict[str, int] = {}  # places of models
        self._db: apsw.Connection | None = None
        self._opened = self._inode = 0  # how often it was, and which file that was

    def load(self, model: str, wanted: Mapping[int, bytes]) -> dict[int, bytes]:
        """The vectors of passages whose texts have these digests, in half precision."""
        kept = self._of(lambda db: self._kept(db, model, wanted))
        there = {p: vector for p, digest, vector in kept if wanted.get(p) == digest}
        return {passage: there[passage] for passage in wanted if passage in there}

    def known(self, model: str, wanted: Mapping[int, bytes]) -> set[int]:
        """Those of these passages, which follow each other, that have a vector of their text."""

        def found(db: apsw.Connection) -> list[Row]:
            first = self._find(db, model)
            bounds = (first, min(wanted), max(wanted))
            return rows(db, _KNOWN, bounds) if first else []

        return {passage for passage, digest in self._of(found) if wanted.get(passage) == digest}

    def _kept(self, db: apsw.Connection, model: str, wanted: Mapping[int, bytes]) -> list[Row]:
        """What is kept of some passages; if many are wanted, of all between them as well."""
        first = self._find(db, model)
        if not first:
            return []
        if len(wanted) > SCAN_FROM:
            return rows(db, _MANY, (first, min(wanted), max(wanted)))
        asked = [(first, passage) for passage in wanted]
        return db.executemany(_ONE, asked).fetchall()

    def _find(self, db: apsw.Connection, model: str) -> int:
        """The first place of a model; 0 if nothing of it was ever kept."""
        if model not in self._first:
            found = number(db, "SELECT number FROM models WHERE name = ?", (model,))
            if not found:
                return 0
            self._first[model] = ROOM * found
        return self._first[model]

    @property
    def snapshot(self) -> Snapshot:
        """Where arrays made of these vectors, and of what they belong to, may be kept."""
        return Snapshot(self._path.with_suffix(".arrays"))

    def state(self) -> tuple[int, int]:
        """Equal as long as no other process saved anything.

        The first number is equal as long as the file is the same one.
        """
        return self._of(lambda db: (self._opened, db.data_version()))

    def save(self, model: str, vectors: Sequence[Vector]) -> None:
        """Keep vectors, in half precision.

        Raises:
            Unavailable: they cannot be: the disk is full, say.
        """

        def write(db: apsw.Connection) -> None:
            if model not in self._first:
                db.execute("INSERT OR IGNORE INTO models (name) VALUES (?)", (model,))
            first = self._find(db, model)
            kept = [(first + passage, digest, vector) for passage, digest, vector in vectors]
            with db if len(kept) > 1 else nullcontext():
                db.executemany("REPLACE INTO placed VALUES (?, ?, ?)", kept)

        self._of(write)

    def drop(self, model: str, passages: Iterable[int]) -> None:
        """Throw vectors away that are none, so that they are made again."""

        def delete(db: apsw.Connection) -> None:
            first = self._find(db, model)
            with db:
                places = [(first + passage,) for passage in passages]
                db.executemany("DELETE FROM placed WHERE place = ?", places)

        self._of(delete)

    def carried_out(self) -> bytes | None:
        """The digest of the newest purge after which vectors were dropped here, if one is known."""
        found = self._of(lambda db: rows(db, "SELECT purge FROM carried_out"))
        return found[0][0] if found else None

    def forget(self, positions: Sequence[int], purge: bytes | None = None) -> None:
        """Drop the vectors of purged facts, of every model, and whatever was made of them.

        `purge` is the digest of the newest purge that is carried out with that.
        """
        self.snapshot.drop()

        def delete(db: apsw.Connection) -> None:
            with db:
                for (model,) in rows(db, "SELECT number FROM models"):
                    places = [model * ROOM + position * PASSAGES_MAX for position in positions]
                    db.executemany(_FORGET, [(at, at + PASSAGES_MAX) for at in places])
                if purge is not None:
                    db.execute("DELETE FROM carried_out")
                    db.execute("INSERT INTO carried_out VALUES (?)", (purge,))
            rows(db, "PRAGMA wal_checkpoint(TRUNCATE)")  # no copy is left beside the file

        self._of(delete)

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()

    def _of(self, work: Callable[[apsw.Connection], T]) -> T:
        """What comes of some work with the file. A damaged one is thrown away first.

        Raises:
            Unavailable: the disk fails, or is full.
        """
        with self._lock:
            try:
                try:
                    return work(self._open())
                except DAMAGED:
                    self._throw_away()
                    return work(self._open())
            except (apsw.Error, UnicodeDecodeError) as problem:
                raise unavailable(problem, self._path) from problem
            except OSError as problem:
                told = (
                    f"{self._path.name} is damaged, and cannot be thrown away: {problem.strerror}"
                )
                raise Unavailable(told, hint="Delete it.") from problem

    def _open(self) -> apsw.Connection:
        if self._db is not None and inode(self._path) != self._inode:
            self._let_go()  # somebody deleted it, or put another in its place
        if self._db is None:
            self._clear()
            self._db = self._connect()
            self._opened += 1
        return self._db

    def _connect(self) -> apsw.Connection:
        db = apsw.Connection(str(self._path))
        self._inode = inode(self._path)
        try:
            db.set_busy_timeout(5_000)
            rows(db, _SETTINGS)  # all of them, for SQLite stops at the first row
            db.execute(_SCHEMA)
        except apsw.Error:
            let_go(db)
            raise
        return db

    def _let_go(self) -> None:
        if self._db is not None:
            let_go(self._db)
        self._db = None
        self._first.clear()

    def _throw_away(self) -> None:
        """Begin anew, if nobody else did so already."""
        self._let_go()
        if inode(self._path) == self._inode:
            delete(self._path)

    def _clear(self) -> None:
        """Delete what a file that is no more left beside its place.

        Whoever has that file open goes on with it, and a new one must share nothing with those.
        """
        beside = [Path(f"{self._path}{end}") for end in ("-wal", "-shm")]
        left = [path for path in beside if path.exists()]
        if not self._path.exists():  # only now: what is beside a new file came after it
            for path in left:
                path.unlink(missing_ok=True)
