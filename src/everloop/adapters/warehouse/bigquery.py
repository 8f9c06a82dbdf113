"""A copy of the log in BigQuery, for queries there; one row for each record.

Needs the extra `bigquery`. Rows are loaded by load jobs, never by streaming: a load job is atomic,
and DML may change its rows at once, so that the streaming buffer does not delay a purge.

Exactly once: a job's id consists of the table's creation time and the position of its first row,
and BigQuery runs an id only once. So after a crash, or with another process in parallel, the same
rows meet the existing job. There is another attempt only if that job failed.

Google's own library finds the credentials; they are never read here.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from io import BytesIO
from itertools import count
from typing import Any

import msgspec
from google.api_core import exceptions as google
from google.api_core.client_options import ClientOptions
from google.api_core.retry import Retry, if_exception_type
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from everloop.adapters.warehouse.bigquery_errors import translate_error, translate_errors
from everloop.adapters.warehouse.bigquery_views import MARK, view_statements
from everloop.errors import RESTORE_HINT, Conflict, Corrupt, Invalid
from everloop.log import Record
from everloop.log.model.record import decode_positions, from_microseconds
from everloop.log.transfer.warehouse import REFILL_HINT, CopyEnd, SinkLimits

PLACE = re.compile(r"(?P<project>(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9])\.(?P<dataset>\w+)")
TABLE = re.compile(r"[A-Za-z0-9_-]{1,200}")
ERASED_AT_ONCE = 10_000
TIME_TRAVEL_HOURS = 48  # minimum of BigQuery; erased text stays readable for so long
MOMENTARY = (
    google.TooManyRequests,
    google.InternalServerError,
    google.BadGateway,
    google.ServiceUnavailable,
    ConnectionError,
)
COLUMNS = (
    ("position", "INT64", "REQUIRED", "place in the whole log"),
    ("stream", "STRING", "REQUIRED", "what it is about"),
    ("branch", "STRING", "REQUIRED", "on which line"),
    ("version", "INT64", "REQUIRED", "its place in the stream"),
    ("kind", "STRING", "REQUIRED", "what happened"),
    ("schema", "INT64", "REQUIRED", "number of the payload's shape"),
    ("data", "JSON", "NULLABLE", "payload; NULL if it was purged"),
    ("actor", "STRING", "REQUIRED", "who caused it"),
    ("because", "INT64", "REPEATED", "positions it was derived from"),
    ("request_id", "STRING", "REQUIRED", "the caller's name for the append"),
    ("recorded_at", "TIMESTAMP", "REQUIRED", "when the store took it in"),
    ("digest", "BYTES", "REQUIRED", "its link in the chain"),
)
END = """
SELECT COUNT(*) AS total, IFNULL(MAX(position), 0) AS newest, MAX_BY(digest, position) AS digest
FROM `{table}`
"""
ERASE = """
UPDATE `{table}` SET data = NULL WHERE position IN UNNEST(@positions) AND data IS NOT NULL
"""


class Row(msgspec.Struct, frozen=True):
    """A record in the format of load jobs."""

    position: int
    stream: str
    branch: str
    version: int
    kind: str
    schema: int
    data: msgspec.Raw | msgspec.UnsetType  # left out if purged: `null` would be a JSON value
    actor: str
    because: tuple[int, ...]
    request_id: str
    recorded_at: datetime
    digest: bytes


class BigQueryTable:
    """A table with one row for each record."""

    def __init__(self, client: Any, dataset: str, table: str, limits: SinkLimits) -> None:
        self.name = f"{dataset}.{table}"
        self._client = client
        self._dataset_name = dataset
        self._limits = limits
        self._retry: Any = _retry_policy(limits, MOMENTARY)

    def end(self) -> CopyEnd:
        """The end of the copy; dataset and table are created if they are missing."""
        with translate_errors(f"asking where {self.name} ends"):
            row = next(iter(self._query(END)))
        return CopyEnd(row.total, row.newest, row.digest)

    def erase(self, positions: Sequence[int]) -> int:
        """Set the payloads at these positions to NULL; returns how many were not yet."""
        erased = 0
        for begin in range(0, len(positions), ERASED_AT_ONCE):
            chosen = list(positions[begin : begin + ERASED_AT_ONCE])
            named: Any = bigquery.ArrayQueryParameter("positions", "INT64", chosen)
            with translate_errors(f"erasing from {self.name}"):
                erased += self._query(ERASE, named).num_dml_affected_rows or 0
        return erased

    def load(self, records: Sequence[Record]) -> int:
        """Append records exactly once, and return the new end of the copy."""
        first, lines = records[0].position, b"".join(map(to_load_line, records))
        doing = f"loading from position {first} into {self.name}"
        for attempt in count():
            with translate_errors(doing):
                job, ours = self._job(first, attempt, lines)
                failure = self._failure(job)
            if ours and failure:
                raise translate_error(doing, failure)
            if ours:
                return records[-1].position
            if not failure and (newest := self.end().position) >= first:
                return newest
        raise AssertionError  # unreachable: `count` is endless

    def refresh_views(self) -> None:
        """Create the readable views over the table, or bring them to the form of this version.

        Raises:
            Conflict: something that is not ours has the name of one.
        """
        table = self._table
        dataset = f"{table.project}.{table.dataset_id}"
        for name, statement in view_statements(dataset, table.table_id).items():
            with translate_errors(f"creating the view {name}"):
                self._refresh_view(f"{dataset}.{name}", statement)

    def _refresh_view(self, name: str, statement: str) -> None:
        try:
            found = self._client.get_table(name, retry=self._retry)
        except google.NotFound:
            view: Any = bigquery.Table(name)
            view.view_query, view.description = statement, MARK
            self._client.create_table(view, exists_ok=True, retry=self._retry)
            return
        if found.description != MARK:
            raise Conflict(f"{name!r} exists and is not a view of ours", hint=REFILL_HINT)
        if found.view_query != statement:
            found.view_query = statement
            self._client.update_table(found, ["view_query"], retry=self._retry)

    def _job(self, first: int, attempt: int, lines: bytes) -> tuple[Any, bool]:
        """The load job for the rows from a position, and whether we started it."""
        found, where = self._table, self._dataset.location
        born = int(found.created.timestamp() * 1_000)
        job_id = f"everloop-{found.dataset_id}-{found.table_id}-{born}-{first}-{attempt}"
        config: Any = bigquery.LoadJobConfig(
            source_format=bigquery.SourceFormat.NEWLINE_DELIMITED_JSON,
            create_disposition=bigquery.CreateDisposition.CREATE_NEVER,
            write_disposition=bigquery.WriteDisposition.WRITE_APPEND,
        )
        try:
            job = self._client.load_table_from_file(
                BytesIO(lines), self.name, job_id=job_id, location=where, job_config=config
            )
        except google.Conflict:  # the id is in use; such a job may become visible late
            patient = _retry_policy(self._limits, (*MOMENTARY, google.NotFound))
            return self._client.get_job(job_id, location=where, retry=patient), False
        else:
            return job, True

    def _failure(self, job: Any) -> google.GoogleAPICallError | None:
        """Wait for a job, and return its error if it failed; then it has written nothing."""
        try:
            job.result(retry=self._retry, timeout=self._limits.job_wait_s)
        except google.GoogleAPICallError as problem:
            if job.state == "DONE" and job.error_result:
                return problem
            raise
        return None

    def _query(self, statement: str, *parameters: Any) -> Any:
        table = self._table  # created if it is missing
        config: Any = bigquery.QueryJobConfig(query_parameters=parameters, use_query_cache=False)
        return self._client.query_and_wait(
            statement.format(table=f"{table.project}.{table.dataset_id}.{table.table_id}"),
            job_config=config,
            location=self._dataset.location,
            wait_timeout=self._limits.job_wait_s,
            retry=self._retry,
            job_retry=None,
        )

    @cached_property
    def _dataset(self) -> Any:
        try:
            return self._client.get_dataset(self._dataset_name, retry=self._retry)
        except google.NotFound:
            made: Any = bigquery.Dataset(self._dataset_name)
            made.max_time_travel_hours = TIME_TRAVEL_HOURS
            made.location = self._limits.location or None
            return self._client.create_dataset(made, exists_ok=True, retry=self._retry)

    @cached_property
    def _table(self) -> Any:
        assert self._dataset  # a table needs one
        try:
            found = self._client.get_table(self.name, retry=self._retry)
        except google.NotFound:
            made = _new_table(self.name)
            found = self._client.create_table(made, exists_ok=True, retry=self._retry)
        if [field.name for field in found.schema] != [name for name, *_ in COLUMNS]:
            raise Conflict(
                f"the table {self.name!r} does not have the expected columns", hint=REFILL_HINT
            )
        return found


def open_bigquery(place: str, table: str, limits: SinkLimits) -> BigQueryTable:
    """Open a table in `PROJECT.DATASET`; whatever is missing is created on first use.

    Raises:
        Invalid: the names of dataset or table are not valid.
        Forbidden: no credentials were found.
    """
    found = PLACE.fullmatch(place)
    if found is None:
        raise Invalid(f"{place!r} is not a dataset", hint="Write it as PROJECT.DATASET.")
    if not TABLE.fullmatch(table):
        raise Invalid(f"{table!r} is not a table name", hint="Use letters, digits, `_` and `-`.")
    with translate_errors("signing in"):
        client: Any = bigquery.Client(project=found["project"], **_endpoint(limits))
    return BigQueryTable(client, place, table, limits)


def to_load_line(record: Record) -> bytes:
    """A record as one JSON line for a load job.

    Raises:
        Corrupt: its payload is not valid JSON.
    """
    try:
        data = msgspec.UNSET if record.data is None else _one_line(record.data)
    except msgspec.MsgspecError as problem:
        raise Corrupt(
            f"the payload at {record.position} is not valid JSON", hint=RESTORE_HINT
        ) from problem
    row = Row(
        record.position,
        record.stream,
        record.branch,
        record.version,
        record.kind,
        record.schema,
        data,
        record.actor,
        decode_positions(record.because),
        record.request_id,
        from_microseconds(record.recorded_us),
        record.digest,
    )
    return msgspec.json.encode(row) + b"\n"


def _one_line(data: str) -> msgspec.Raw:
    """A payload without line breaks, which in JSON occur only as whitespace between values."""
    msgspec.json.decode(data)
    return msgspec.Raw(data.replace("\n", " ").replace("\r", " ").encode())


def _endpoint(limits: SinkLimits) -> dict[str, Any]:
    """Client options for an emulator: its address, anonymous credentials."""
    if not limits.endpoint:
        return {}
    nobody: Any = AnonymousCredentials
    return {
        "credentials": nobody(),
        "client_options": ClientOptions(api_endpoint=limits.endpoint),
    }


def _new_table(name: str) -> Any:
    made: Any = bigquery.Table(
        name,
        schema=[
            bigquery.SchemaField(column, kind, mode=mode, description=meaning)
            for column, kind, mode, meaning in COLUMNS
        ],
    )
    month = bigquery.TimePartitioningType.MONTH  # a table has 10,000 partitions at most
    made.time_partitioning = bigquery.TimePartitioning(type_=month, field="recorded_at")
    made.clustering_fields = ["stream", "kind"]
    made.description = "A copy of an Everloop log: one row for each record."
    return made


def _retry_policy(limits: SinkLimits, passing: tuple[type[Exception], ...]) -> Any:
    """A retry policy for transient errors, up to `retry_s`."""
    begin = min(1.0, limits.retry_s / 10)
    return Retry(predicate=if_exception_type(*passing), initial=begin, timeout=limits.retry_s)
