"""A copy of the log in BigQuery, to be queried there; one row for each record.

Needs the extra `bigquery`. Rows arrive by load jobs, never by streaming: a load job is all or
nothing, and DML may change its rows at once, so that a purge is not held up by the streaming
buffer.

Nothing arrives twice. A job's id is made of the table's birth and the position at which its rows
begin, and BigQuery runs an id once: after a crash, or beside another process, the same rows meet
the job that brought them. Only after such a job failed is there another attempt.

Credentials are found by Google's own library and never looked at here.
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

from everloop.adapters.warehouse.bigquery_errors import told, trouble
from everloop.errors import RESTORE, Conflict, Corrupt, Invalid
from everloop.log import Record
from everloop.log.model.record import moment, positions
from everloop.log.transfer.warehouse import ANEW, End, SinkLimits

PLACE = re.compile(r"(?P<project>(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9])\.(?P<dataset>\w+)")
TABLE = re.compile(r"[A-Za-z0-9_-]{1,200}")
ERASED_AT_ONCE = 10_000
TIME_TRAVEL_HOURS = 48  # the least that BigQuery allows; erased text can be read back for so long
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
    """A record as a load job reads it."""

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
    """A table that holds one row for each record."""

    def __init__(self, client: Any, dataset: str, table: str, limits: SinkLimits) -> None:
        self.name = f"{dataset}.{table}"
        self._client = client
        self._in = dataset
        self._limits = limits
        self._retry: Any = _patient(limits, MOMENTARY)

    def end(self) -> End:
        """How the copy ends; dataset and table are made if they are missing."""
        with told(f"asking where {self.name} ends"):
            row = next(iter(self._ask(END)))
        return End(row.total, row.newest, row.digest)

    def erase(self, positions: Sequence[int]) -> int:
        """Set the payloads at these positions to NULL, and say how many were there."""
        erased = 0
        for begin in range(0, len(positions), ERASED_AT_ONCE):
            chosen = list(positions[begin : begin + ERASED_AT_ONCE])
            named: Any = bigquery.ArrayQueryParameter("positions", "INT64", chosen)
            with told(f"erasing from {self.name}"):
                erased += self._ask(ERASE, named).num_dml_affected_rows or 0
        return erased

    def load(self, records: Sequence[Record]) -> int:
        """Add the records that come next, once, and return where the copy now ends."""
        first, lines = records[0].position, b"".join(map(line_of, records))
        doing = f"loading from position {first} into {self.name}"
        for attempt in count():
            with told(doing):
                job, ours = self._job(first, attempt, lines)
                failure = self._failure(job)
            if ours and failure:
                raise trouble(doing, failure)
            if ours:
                return records[-1].position
            if not failure and (newest := self.end().position) >= first:
                return newest
        raise AssertionError  # counting does not end

    def _job(self, first: int, attempt: int, lines: bytes) -> tuple[Any, bool]:
        """The job that brings the rows from a position on, and whether we have begun it."""
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
        except google.Conflict:  # the id was used; such a job may show up late
            patient = _patient(self._limits, (*MOMENTARY, google.NotFound))
            return self._client.get_job(job_id, location=where, retry=patient), False
        else:
            return job, True

    def _failure(self, job: Any) -> google.GoogleAPICallError | None:
        """Wait for a job, and say what it failed of, if it did; then it has written nothing."""
        try:
            job.result(retry=self._retry, timeout=self._limits.job_wait_s)
        except google.GoogleAPICallError as problem:
            if job.state == "DONE" and job.error_result:
                return problem
            raise
        return None

    def _ask(self, statement: str, *parameters: Any) -> Any:
        table = self._table  # made if it is missing
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
            return self._client.get_dataset(self._in, retry=self._retry)
        except google.NotFound:
            made: Any = bigquery.Dataset(self._in)
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
            raise Conflict(f"the table {self.name!r} has other columns than ours", hint=ANEW)
        return found


def open_bigquery(place: str, table: str, limits: SinkLimits) -> BigQueryTable:
    """The table of this name in `PROJECT.DATASET`; what is missing is made when it is needed.

    Raises:
        Invalid: these are no names of a dataset and a table.
        Forbidden: no credentials were found.
    """
    found = PLACE.fullmatch(place)
    if found is None:
        raise Invalid(f"{place!r} is not a dataset", hint="Write it as PROJECT.DATASET.")
    if not TABLE.fullmatch(table):
        raise Invalid(f"{table!r} is not a table name", hint="Use letters, digits, `_` and `-`.")
    with told("signing in"):
        client: Any = bigquery.Client(project=found["project"], **_endpoint(limits))
    return BigQueryTable(client, place, table, limits)


def line_of(record: Record) -> bytes:
    """A record as one line for a load job.

    Raises:
        Corrupt: its payload is no JSON.
    """
    try:
        data = msgspec.UNSET if record.data is None else _one_line(record.data)
    except msgspec.MsgspecError as problem:
        raise Corrupt(f"the payload at {record.position} is no JSON", hint=RESTORE) from problem
    row = Row(
        record.position,
        record.stream,
        record.branch,
        record.version,
        record.kind,
        record.schema,
        data,
        record.actor,
        positions(record.because),
        record.request_id,
        moment(record.recorded_us),
        record.digest,
    )
    return msgspec.json.encode(row) + b"\n"


def _one_line(data: str) -> msgspec.Raw:
    """A payload without line breaks: in JSON they stand only between values, as blanks do."""
    msgspec.json.decode(data)
    return msgspec.Raw(data.replace("\n", " ").replace("\r", " ").encode())


def _endpoint(limits: SinkLimits) -> dict[str, Any]:
    """How an emulator is reached: without anybody's credentials."""
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


def _patient(limits: SinkLimits, passing: tuple[type[Exception], ...]) -> Any:
    """Calls are repeated for so long if they failed of something that passes."""
    begin = min(1.0, limits.retry_s / 10)
    return Retry(predicate=if_exception_type(*passing), initial=begin, timeout=limits.retry_s)
