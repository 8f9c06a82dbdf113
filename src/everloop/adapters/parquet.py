"""The log as a Parquet file, for notebooks and warehouses; exact, like the text archive.

Needs the extra `parquet`. Reading one back checks it as a whole before anything is taken in.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from everloop.errors import Corrupt, Invalid
from everloop.log import Log, Record
from everloop.log.archive import import_records
from everloop.log.record import microseconds
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
    """Write the whole log to a file and return how many records that is."""
    head = log.head
    done = 0
    try:
        with pq.ParquetWriter(path, SCHEMA, compression="zstd") as out:
            for batch in _batches(log.records(upto=head)):
                out.write_table(_table(batch))
                done += len(batch)
                if progress:
                    progress(done, head)
    except OSError as problem:
        raise Invalid(f"{path} cannot be written: {problem.strerror or problem}") from problem
    return done


def import_parquet(log: Log, path: Path, progress: Progress | None = None) -> int:
    """Take such a file into an empty log, or go on with an interrupted import.

    Raises:
        Corrupt: the file is damaged; nothing was taken in.
    """
    return import_records(log, read_parquet(path), progress)


def read_parquet(path: Path) -> Iterator[Record]:
    """The records of a file."""
    try:
        opened: Any = pq.ParquetFile(path)
        with opened as source:
            if source.schema_arrow.names != SCHEMA.names:
                raise Invalid(f"{path.name} is not an archive of a log")
            for batch in source.iter_batches(ROWS):
                yield from map(_record, batch.to_pylist())
    except (pa.ArrowException, OSError) as problem:
        raise Corrupt(
            f"{path.name} cannot be read: {problem}",
            hint="Nothing was taken in. Try another copy.",
        ) from problem


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
    values: dict[str, Any] = {**row, "recorded_us": microseconds(row["recorded_at"])}
    del values["recorded_at"]
    values["because"] = msgspec.json.encode(row["because"]).decode() if row["because"] else None
    return Record(**values)
