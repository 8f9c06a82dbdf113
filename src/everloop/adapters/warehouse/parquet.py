"""Export and import of the log as a Parquet file, for notebooks and warehouses; lossless.

Needs the extra `parquet`. An import verifies the whole file before it writes anything; the file's
metadata has the number of records and a digest over all of them.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from everloop.errors import Corrupt, Invalid
from everloop.log import Log, Record
from everloop.log.model.record import to_microseconds
from everloop.log.transfer.archive import (
    NOTHING_IMPORTED,
    import_records,
    require_readable_file,
    translate_write_errors,
)
from everloop.ports import Progress

ROWS = 10_000
_FIELDS: list[Any] = [
    pa.field("position", pa.int64(), nullable=False),
    pa.field("stream", pa.string(), nullable=False),
    pa.field("branch", pa.string(), nullable=False),
    pa.field("version", pa.int64(), nullable=False),
    pa.field("kind", pa.string(), nullable=False),
    pa.field("schema", pa.int32(), nullable=False),
    pa.field("data", pa.string()),
    pa.field("actor", pa.string(), nullable=False),
    pa.field("because", pa.list_(pa.int64())),
    pa.field("request_id", pa.string(), nullable=False),
    pa.field("recorded_at", pa.timestamp("us", tz="UTC"), nullable=False),
    pa.field("salt", pa.binary()),
    pa.field("seal", pa.binary()),
    pa.field("digest", pa.binary(), nullable=False),
]
SCHEMA: Any = pa.schema(_FIELDS)


def export_parquet(log: Log, path: Path, progress: Progress | None = None) -> int:
    """Write the whole log to a file and return the number of records.

    Raises:
        Unavailable: the file cannot be written.
    """
    head = log.head
    done, total = 0, hashlib.sha256()
    with translate_write_errors(path), pq.ParquetWriter(path, SCHEMA, compression="zstd") as out:
        for batch in _batches(log.records(upto=head)):
            out.write_table(_table(batch))
            done += len(batch)
            total.update(b"".join(record.digest for record in batch))
            if progress:
                progress(done, head)
        out.add_key_value_metadata(_metadata(done, total.hexdigest()))
    return done


def import_parquet(log: Log, path: Path, progress: Progress | None = None) -> int:
    """Import a file into an empty log, or resume an interrupted import.

    Raises:
        Corrupt: the file is damaged; nothing was imported.
    """
    return import_records(log, read_parquet(path), progress, place=lambda at: f"row {at}")


def read_parquet(path: Path) -> Iterator[Record]:
    """The records of a file; completeness is checked at the end.

    Raises:
        Corrupt: something is damaged or missing.
        Invalid: it is not an export of a log.
        NotFound: there is no such file.
    """
    require_readable_file(path)
    try:
        opened: Any = pq.ParquetFile(path)
        with opened as source:
            if not source.schema_arrow.equals(SCHEMA):
                raise Invalid(
                    f"{path.name} is not an archive of a log",
                    hint="`everloop log export` makes one.",
                )
            yield from _verified_records(source)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as problem:
        words = " ".join(str(problem).split())  # messages of Arrow have several lines
        raise Corrupt(f"{path.name} cannot be read: {words}", hint=NOTHING_IMPORTED) from problem


def _verified_records(source: Any) -> Iterator[Record]:
    """Every record of an open file; then the count and digest are checked."""
    done, total = 0, hashlib.sha256()
    for batch in source.iter_batches(ROWS):
        for record in map(_record, batch.to_pylist()):
            done += 1
            if record.position != done:
                words = f"row {done} of the archive holds record {record.position}"
                raise Corrupt(words, hint=NOTHING_IMPORTED)
            total.update(record.digest)
            yield record
    wanted, noted = _metadata(done, total.hexdigest()), source.metadata.metadata
    if any(noted.get(name.encode()) != value.encode() for name, value in wanted.items()):
        words = f"the archive has {done} records, which do not match its metadata"
        raise Corrupt(words, hint=NOTHING_IMPORTED)


def _metadata(records: int, digest: str) -> dict[str, str]:
    """The metadata of a complete file."""
    return {"everloop.records": str(records), "everloop.sum": digest}


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    for record in records:
        batch.append(record)
        if len(batch) == ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def _table(batch: list[Record]) -> Any:
    columns = list(zip(*(msgspec.structs.astuple(record) for record in batch), strict=True))
    because = [msgspec.json.decode(text) if text else None for text in columns[8]]
    arrays = [*columns[:8], because, *columns[9:]]
    fields = zip(arrays, SCHEMA, strict=True)
    content: list[Any] = [pa.array(values, field.type) for values, field in fields]
    return pa.Table.from_arrays(content, schema=SCHEMA)


def _record(row: dict[str, Any]) -> Record:
    values: dict[str, Any] = {**row, "recorded_us": to_microseconds(row["recorded_at"])}
    del values["recorded_at"]
    values["because"] = msgspec.json.encode(row["because"]).decode() if row["because"] else None
    return Record(**values)
