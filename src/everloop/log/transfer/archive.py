"""JSONL archive of the log: one JSON object per line, exact enough to restore an equal log.

The first line is a header, the last one has the number of records; between them is one record per
line, with its digest. An archive is checked as a whole before anything is imported: a damaged or
truncated one is refused, and the error names the first bad line.
"""

import gzip
import hashlib
import tempfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO

import apsw
import msgspec

from everloop.errors import Conflict, Corrupt, EverloopError, Invalid, NotFound, Unavailable
from everloop.log.integrity.verify import Damage, last_known_position, scan_records
from everloop.log.log import Log
from everloop.log.model.record import Record, from_microseconds, to_microseconds
from everloop.log.transfer.move import move_log
from everloop.ports import Progress

FORMAT = 1
BATCH = 1_000
IMPORTING = ".importing"  # the suffix of a file that names the archive that is being imported
HEADING_BYTES_MAX = 1_000
NOTHING_IMPORTED = "Nothing was imported. Try another copy of the archive."
DescribeLocation = Callable[[int], str]  # describes where the record of a position is in an archive
_UNREADABLE = (OSError, EOFError, zlib.error)


class Heading(msgspec.Struct, frozen=True):
    """The first line: what the file is, and its format."""

    everloop: str
    format: int


class Ending(msgspec.Struct, frozen=True):
    """The last line: the number of records, and a digest over their digests."""

    records: int
    sum: str


class ArchiveLine(msgspec.Struct, frozen=True):
    """A record as a line of the archive."""

    position: int
    stream: str
    branch: str
    version: int
    kind: str
    schema: int
    data: msgspec.Raw
    actor: str
    because: list[int]
    request_id: str
    recorded_at: datetime
    salt: bytes | None
    seal: bytes | None
    digest: bytes


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ArchiveLine).decode


def export_jsonl(log: Log, path: Path, progress: Progress | None = None) -> int:
    """Write the whole log to a file (compressed if it ends in `.gz`) and return how many records.

    Raises:
        Corrupt: some records could not be read. The file contains all others.
        Unavailable: the file cannot be written.
    """
    damage: list[Damage] = []
    total = hashlib.sha256()
    count = 0
    with log.file.reading() as reader, translate_write_errors(path), _open(path, "wb") as out:
        head = last_known_position(reader)
        out.write(_encode(Heading("log", FORMAT)) + b"\n")
        for item in _encode_lines(scan_records(reader, 0, head)):
            if isinstance(item, Damage):
                damage.append(item)
                continue
            line, digest = item
            out.write(line + b"\n")
            total.update(digest)
            count += 1
            if progress and count % BATCH == 0:
                progress(count, head)
        out.write(_encode(Ending(count, total.hexdigest())) + b"\n")
    if damage:
        raise Corrupt(
            f"{len(damage)} records could not be read, the first at {damage[0].first};"
            f" the other {count} are in {path.name}",
            hint="Run `everloop verify` to see what is damaged.",
        )
    if progress:
        progress(count, count)
    return count


def import_jsonl(log: Log, path: Path, progress: Progress | None = None) -> int:
    """Import an archive into a log that is empty or has part of it from an interrupted import.

    Raises:
        Corrupt: the archive is damaged; names the first bad line. Nothing was imported.
        Conflict: the log already contains something else.
    """
    return import_records(log, read_jsonl(path), progress, place=lambda at: f"line {at + 1}")


def import_records(
    log: Log,
    records: Iterable[Record],
    progress: Progress | None = None,
    *,
    place: DescribeLocation,
) -> int:
    """Check all records in a scratch log, then import them.

    A log with records of its own is never extended: an archive has no key that proves who wrote
    it, and its records speak in any name. Only an import that was interrupted here goes on.

    Raises:
        Conflict: the log has records, and this import was not interrupted here.
        Corrupt: the archive is damaged.
    """
    with tempfile.TemporaryDirectory(prefix="everloop-import-") as folder:
        scratch = log.open_other(Path(folder) / "import.db")
        try:
            _import_all(scratch, records, place)
            with _resumable(log, scratch):
                if log.backups and log.head:
                    log.backups.make()
                return move_log(scratch, log, progress)
        finally:
            scratch.close()


@contextmanager
def _resumable(log: Log, archive: Log) -> Generator[None]:
    """Note which archive is being imported, next to the log, until all of it is there."""
    note = log.file.path.with_suffix(IMPORTING)
    tip = archive.record(archive.head).digest.hex() if archive.head else ""
    if 0 < log.head < archive.head and not (note.exists() and note.read_text() == tip):
        raise Conflict(
            "the log is not empty, and records of an archive could speak in your name",
            hint="Import it into a new home: everloop --home FOLDER log import FILE. Take over what"
            " you want with `memories export` and `import`, `threads export` and `import`.",
        )
    note.write_text(tip)
    yield
    note.unlink(missing_ok=True)


def read_jsonl(path: Path) -> Iterator[Record]:
    """Read the records of an archive and check that it is complete.

    Raises:
        Corrupt: a line is damaged or missing.
        Invalid: the file is not an Everloop archive.
        NotFound: there is no such file.
    """
    require_readable_file(path)
    total = hashlib.sha256()
    count = 0
    with _open(path, "rb") as lines:
        _check_heading(path, lines)
        while True:
            number = count + 2
            line = _read_line(lines, number)
            if line.startswith(b'{"records":'):
                break
            record = _decode_line(line, number)
            if record.position != count + 1:
                raise Corrupt(
                    f"line {number} of the archive has record {record.position}, not {count + 1}",
                    hint=NOTHING_IMPORTED,
                )
            total.update(record.digest)
            count += 1
            yield record
        _check_ending(line, count, total.hexdigest())
        if _read_raw(lines, number + 1):
            raise Corrupt(
                f"line {number + 1} comes after the end of the archive", hint=NOTHING_IMPORTED
            )


def require_readable_file(path: Path) -> None:
    """Check that a file exists and can be read.

    Raises:
        NotFound: there is no such file.
        Unavailable: it cannot be read.
    """
    if not path.is_file():
        raise NotFound(
            f"no file {path}", hint="Give the path of an archive: FILE.jsonl or FILE.parquet."
        )
    try:
        path.open("rb").close()
    except OSError as problem:
        raise Unavailable(
            f"{path} cannot be read: {problem.strerror}",
            hint="Check its owner and permissions: ls -l",
        ) from problem


@contextmanager
def translate_write_errors(path: Path) -> Generator[None]:
    """Translate operating system errors while a file is written.

    Raises:
        Unavailable: it cannot be written; the file is incomplete.
    """
    try:
        yield
    except OSError as problem:
        raise Unavailable(
            f"{path} cannot be written: {problem.strerror or problem}",
            hint="Choose a folder that exists and has enough space.",
        ) from problem


def _encode_lines(items: Iterable[Record | Damage]) -> Iterator[tuple[bytes, bytes] | Damage]:
    """Each record as an encoded line with its digest, or a `Damage` if it cannot be encoded."""
    for item in items:
        if isinstance(item, Damage):
            yield item
            continue
        try:
            if item.data is not None:
                msgspec.json.decode(item.data)  # invalid JSON could contain a line break
            yield _encode(to_archive_line(item)), item.digest
        except (msgspec.MsgspecError, OverflowError, ValueError) as problem:
            yield Damage(item.position, item.position, f"cannot be written: {problem}")


def to_archive_line(record: Record) -> ArchiveLine:
    """Convert a record to a line of an archive."""
    return ArchiveLine(
        record.position,
        record.stream,
        record.branch,
        record.version,
        record.kind,
        record.schema,
        msgspec.Raw(record.data.encode() if record.data is not None else b"null"),
        record.actor,
        msgspec.json.decode(record.because) if record.because else [],
        record.request_id,
        from_microseconds(record.recorded_us),
        record.salt,
        record.seal,
        record.digest,
    )


def from_archive_line(line: ArchiveLine) -> Record:
    """Convert a line of an archive to a record."""
    data = bytes(line.data).decode()
    return Record(
        line.position,
        line.stream,
        line.branch,
        line.version,
        line.kind,
        line.schema,
        None if line.salt is None else data,
        line.actor,
        _encode(line.because).decode() if line.because else None,
        line.request_id,
        to_microseconds(line.recorded_at),
        line.salt,
        line.seal,
        line.digest,
    )


def _import_all(scratch: Log, records: Iterable[Record], place: DescribeLocation) -> None:
    rest = iter(records)
    while batch := list(islice(rest, BATCH)):
        _import_batch(scratch, batch, place)


def _import_batch(scratch: Log, batch: list[Record], place: DescribeLocation) -> None:
    try:
        scratch.append_records(batch)
    except EverloopError as problem:
        at = scratch.head
        for record in batch:
            try:
                scratch.append_records([record])
            except (EverloopError, apsw.Error):
                raise Corrupt(
                    f"{place(record.position)} of the archive is damaged: {problem}",
                    hint=NOTHING_IMPORTED,
                ) from problem
        raise Corrupt(
            f"the archive is damaged after record {at}: {problem}", hint=NOTHING_IMPORTED
        ) from problem


def _decode_line(line: bytes, number: int) -> Record:
    try:
        return from_archive_line(_decode(line))
    except (msgspec.MsgspecError, UnicodeDecodeError, OverflowError) as problem:
        raise Corrupt(
            f"line {number} of the archive is damaged: {problem}",
            hint=NOTHING_IMPORTED,
        ) from problem


def _read_line(lines: IO[bytes], number: int) -> bytes:
    line = _read_raw(lines, number)
    if not line.endswith(b"\n"):
        raise Corrupt(f"the archive is cut short at line {number}", hint=NOTHING_IMPORTED)
    return line


def _read_raw(lines: IO[bytes], number: int) -> bytes:
    try:
        return lines.readline()
    except _UNREADABLE as problem:
        raise Corrupt(
            f"line {number} of the archive cannot be read: {problem}", hint=NOTHING_IMPORTED
        ) from problem


def _check_heading(path: Path, lines: IO[bytes]) -> None:
    try:
        heading = msgspec.json.decode(lines.readline(HEADING_BYTES_MAX), type=Heading)
    except (msgspec.MsgspecError, *_UNREADABLE) as problem:
        raise Invalid(
            f"{path.name} is not an archive of a log", hint="`everloop log export` makes one."
        ) from problem
    if heading.format > FORMAT:
        raise Invalid(f"{path.name} was written by a newer Everloop", hint="Upgrade Everloop.")


def _check_ending(line: bytes, count: int, total: str) -> None:
    where = f"line {count + 2} of the archive"
    try:
        ending = msgspec.json.decode(line, type=Ending)
    except msgspec.MsgspecError as problem:
        raise Corrupt(f"{where} is damaged: {problem}", hint=NOTHING_IMPORTED) from problem
    if ending != Ending(count, total):
        raise Corrupt(
            f"{where} does not match the records before it: {ending.records} expected,"
            f" {count} found, or their digests differ",
            hint=NOTHING_IMPORTED,
        )


def _open(path: Path, mode: str) -> IO[bytes]:
    if path.suffix == ".gz":
        return gzip.open(path, mode)  # type: ignore[return-value]
    return path.open(mode)
