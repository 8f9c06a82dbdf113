"""A copy of the log in BigQuery: Google's own client against a service on the loopback."""

import base64
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.adapters.warehouse.fake_bigquery import (
    HUNG_UP,
    FakeBigQuery,
    Fault,
    Refused,
    fake_bigquery,
)

from everloop.adapters.warehouse.bigquery import COLUMNS, BigQueryTable, open_bigquery
from everloop.errors import Conflict, EverloopError, Forbidden, Invalid, NotFound, Unavailable
from everloop.log import Draft, Log
from everloop.log.model.facts import NoteWritten
from everloop.log.model.record import from_microseconds
from everloop.log.transfer.warehouse import SinkLimits, SyncResult, WarehouseSync
from everloop.memory.model.events import AudienceGranted
from everloop.memory.model.state import audience_stream
from everloop.testing.deterministic import DeterministicPorts

PLACE = "demo-project.copy"
MAKING = ("/datasets", "/tables")


@pytest.fixture
def google() -> Generator[FakeBigQuery]:
    with fake_bigquery() as service:
        yield service


@pytest.fixture
def log(tmp_path: Path) -> Generator[Log]:
    """A log of three notes; the third was derived from the first."""
    opened = DeterministicPorts().open(tmp_path / "log.db")
    opened.append("notes", [NoteWritten("one"), NoteWritten("zwei: ü")], actor="user")
    opened.append("notes", [Draft(NoteWritten("from one"), (1,))], actor="agent:x")
    yield opened
    opened.close()


def _limits(google: FakeBigQuery, rows_max: int = 2) -> SinkLimits:
    return SinkLimits(endpoint=google.url, retry_s=0.3, job_wait_s=20, rows_max=rows_max)


def _table(google: FakeBigQuery) -> BigQueryTable:
    return open_bigquery(PLACE, "log", _limits(google))


def _sink(log: Log, google: FakeBigQuery) -> WarehouseSync:
    return WarehouseSync(log, _table(google), _limits(google))


def _is_whole(log: Log, google: FakeBigQuery) -> bool:
    """Whether the copy holds each record once, as the log has it now."""
    copied = [
        (row["position"], base64.b64decode(row["digest"]), row["data"]) for row in google.rows()
    ]
    return copied == [
        (
            record.position,
            record.digest,
            json.dumps(json.loads(record.data)) if record.data else None,
        )
        for record in log.records()
    ]


def test_a_copy_has_one_row_for_each_record(log: Log, google: FakeBigQuery) -> None:
    told: list[tuple[int, int]] = []
    copied = _sink(log, google).catch_up(lambda done, total: told.append((done, total)))
    assert copied == SyncResult(records=3, erased=0, head=3)
    assert told == [(2, 3), (3, 3)]
    third, record = google.rows()[2], log.record(3)
    assert (third["stream"], third["branch"], third["version"]) == ("notes", "main", 3)
    assert (third["kind"], third["schema"]) == ("notes.note_written", 1)
    assert json.loads(third["data"]) == {"text": "from one"}
    assert (third["actor"], third["because"]) == ("agent:x", "[1]")
    assert third["request_id"] == record.request_id
    assert third["recorded_at"] == from_microseconds(record.recorded_us).isoformat().replace(
        "+00:00", "Z"
    )
    assert _is_whole(log, google)


def test_dataset_and_table_are_made_if_they_are_missing(log: Log, google: FakeBigQuery) -> None:
    _sink(log, google).catch_up()
    assert google.datasets["copy"]["maxTimeTravelHours"] == 48
    table = google.tables["demo-project.copy.log"]
    assert table["timePartitioning"] == {"type": "MONTH", "field": "recorded_at"}
    assert table["clustering"] == {"fields": ["stream", "kind"]}
    assert [field["name"] for field in table["schema"]["fields"]] == [name for name, *_ in COLUMNS]
    _sink(log, google).catch_up()
    made = [call.rpartition("/")[2] for call in google.calls if call.endswith(MAKING)]
    assert made == ["datasets", "tables", *["tables"] * 6]  # six views over the table


def test_running_it_again_copies_only_what_is_new(log: Log, google: FakeBigQuery) -> None:
    _sink(log, google).catch_up()
    assert _sink(log, google).catch_up() == SyncResult(0, 0, 3)
    log.append("notes", [NoteWritten("four")], actor="user")
    assert _sink(log, google).catch_up() == SyncResult(1, 0, 4)
    assert _is_whole(log, google)


def test_a_following_copy_sends_no_queries_while_idle(log: Log, google: FakeBigQuery) -> None:
    sink = _sink(log, google)
    sink.catch_up()
    before = len(google.calls)
    assert sink.catch_up() == SyncResult(0, 0, 3)
    assert len(google.calls) == before
    log.append("notes", [NoteWritten("four")], actor="user")
    assert sink.catch_up() == SyncResult(1, 0, 4)


def test_a_purge_reaches_rows_that_were_copied_before(log: Log, google: FakeBigQuery) -> None:
    _sink(log, google).catch_up()
    log.purge([1], reason="privacy", actor="user")
    assert _sink(log, google).catch_up() == SyncResult(records=1, erased=2, head=4)
    assert [row["data"] is None for row in google.rows()] == [True, False, True, False]
    assert _is_whole(log, google)


def test_a_payload_purged_before_is_never_copied(log: Log, google: FakeBigQuery) -> None:
    log.purge([1], reason="privacy", actor="user")
    assert _sink(log, google).catch_up().erased == 0
    assert _is_whole(log, google)


def test_a_copy_that_contains_a_purge_has_erased_its_payloads(
    log: Log, google: FakeBigQuery
) -> None:
    _sink(log, google).catch_up()
    log.purge([1], reason="privacy", actor="user")
    google.faults = [Fault("PUT", 403, "accessDenied")]
    with pytest.raises(Forbidden):
        _sink(log, google).catch_up()
    assert len(google.rows()) == 3
    assert google.rows()[0]["data"] is None
    assert _sink(log, google).catch_up() == SyncResult(records=1, erased=0, head=4)


def test_an_erasure_that_failed_is_repeated(log: Log, google: FakeBigQuery) -> None:
    sink = _sink(log, google)
    sink.catch_up()
    log.purge([1], reason="privacy", actor="user")
    google.faults = [Fault("queries", 403, "accessDenied")]
    with pytest.raises(Forbidden):
        sink.catch_up()
    assert len(google.rows()) == 3
    assert sink.catch_up() == SyncResult(records=1, erased=2, head=4)
    assert _is_whole(log, google)


def test_a_job_whose_response_was_lost_adds_no_duplicates(log: Log, google: FakeBigQuery) -> None:
    records, table = list(log.records()), _table(google)
    table.end()
    assert table.load(records[:2]) == 2
    assert _table(google).load(records[:2]) == 2  # the same rows once more
    assert _table(google).load(records) == 2  # or more of them: the job is known by where it begins
    assert [row["position"] for row in google.rows()] == [1, 2]
    assert len(google.loads()) == 1


def test_a_job_that_still_runs_is_waited_for(log: Log, google: FakeBigQuery) -> None:
    google.polls = 1
    assert _sink(log, google).catch_up().head == 3
    assert _is_whole(log, google)


def test_a_failed_job_writes_nothing_and_the_next_run_retries(
    log: Log, google: FakeBigQuery
) -> None:
    google.load_errors = ["invalid"]
    with pytest.raises(Invalid, match="made up: invalid"):
        _sink(log, google).catch_up()
    assert google.rows() == []
    assert _sink(log, google).catch_up().records == 3
    assert [name.rsplit("-", 2)[1:] for name in google.loads()] == [
        ["1", "0"],
        ["1", "1"],
        ["3", "0"],
    ]


def test_a_table_that_was_dropped_is_filled_again(log: Log, google: FakeBigQuery) -> None:
    _sink(log, google).catch_up()
    del google.tables["demo-project.copy.log"]
    google.run("DROP TABLE `demo-project.copy.log`")
    assert _sink(log, google).catch_up().records == 3
    assert _is_whole(log, google)


def test_another_log_is_not_mixed_into_a_copy(
    log: Log, google: FakeBigQuery, tmp_path: Path
) -> None:
    _sink(log, google).catch_up()
    other = DeterministicPorts().open(tmp_path / "other.db")
    other.append("notes", [NoteWritten(str(n)) for n in range(4)], actor="user")
    with pytest.raises(Conflict, match="another log") as refusal:
        _sink(other, google).catch_up()
    assert refusal.value.hint
    other.close()
    assert _is_whole(log, google)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM `demo-project.copy.log` WHERE position = 2",
        "INSERT INTO `demo-project.copy.log` SELECT * FROM `demo-project.copy.log`",
    ],
    ids=["deleted", "doubled"],
)
def test_a_copy_that_somebody_changed_is_refused(
    log: Log, google: FakeBigQuery, change: str
) -> None:
    _sink(log, google).catch_up()
    google.run(change)
    with pytest.raises(Conflict, match="deleted or duplicated"):
        _sink(log, google).catch_up()


def test_a_table_with_other_columns_is_left_alone(log: Log, google: FakeBigQuery) -> None:
    _sink(log, google).catch_up()
    google.tables["demo-project.copy.log"]["schema"]["fields"].pop()
    with pytest.raises(Conflict, match="expected columns"):
        _sink(log, google).catch_up()


@pytest.mark.parametrize(
    ("fault", "error", "hint"),
    [
        (Fault("GET .*datasets", 403, "accessDenied"), Forbidden, "BigQuery Data Editor"),
        (Fault("queries", 403, "quotaExceeded"), Unavailable, "quota"),
        (Fault("POST .*datasets$", 404, "notFound"), NotFound, "project"),
        (Fault("queries", 429, "rateLimitExceeded", 99), Unavailable, "quota"),
        (Fault("GET .*tables", 500, "backendError", 99), Unavailable, "again"),
        (Fault("queries", HUNG_UP, "", 99), Unavailable, "again"),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Fault) else "",
)
def test_a_refusal_names_what_to_do(
    log: Log, google: FakeBigQuery, fault: Fault, error: type[EverloopError], hint: str
) -> None:
    google.faults = [fault]
    with pytest.raises(error) as refusal:
        _sink(log, google).catch_up()
    assert hint in refusal.value.hint


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_transient_error_is_retried(log: Log, google: FakeBigQuery, status: int) -> None:
    google.faults = [Fault("queries", status, "backendError"), Fault("GET", status, "backendError")]
    assert _sink(log, google).catch_up().head == 3
    assert _is_whole(log, google)


@pytest.mark.parametrize(
    ("place", "table"),
    [
        ("nodots", "log"),
        ("demo-project.copy.log", "log"),
        ("demo-project.c`; --", "log"),
        (PLACE, "a`b"),
    ],
)
def test_an_invalid_name_is_rejected(google: FakeBigQuery, place: str, table: str) -> None:
    with pytest.raises(Invalid):
        open_bigquery(place, table, _limits(google))


class Killer:
    """Kills a process when BigQuery has got so many of its batches."""

    def __init__(self, google: FakeBigQuery, batches: int) -> None:
        self._google = google
        self._batches = batches
        self._started = threading.Event()
        self._pid = 0

    def aim(self, pid: int) -> None:
        """Name the process."""
        self._pid = pid
        self._started.set()

    def __call__(self) -> None:
        """Kill it, if it is time; then nobody is left to be answered."""
        if len(self._google.loads()) == self._batches and self._started.wait(60):
            self._batches = -1
            os.kill(self._pid, signal.SIGKILL)
            raise Refused(HUNG_UP, "")


@pytest.mark.parametrize(("when", "batches"), [("before_load", 1), ("after_load", 2)])
def test_a_copy_continues_after_its_process_was_killed(
    log: Log, google: FakeBigQuery, when: str, batches: int
) -> None:
    """Killed with its second batch on the way: not taken yet, or taken and not yet answered."""
    log.append("notes", [NoteWritten("four")], actor="user")
    everything = AudienceGranted("agent:cli", ("*",))
    log.append(audience_stream("agent:cli"), [everything], actor="user")
    killer = Killer(google, batches)
    setattr(google, when, killer)
    words = [sys.executable, "-m", "everloop", "log", "sink", "bigquery", PLACE]
    environment = {
        "EVERLOOP_STORE": str(log.file.path),
        "EVERLOOP_HOME": str(log.file.path.parent),
        "EVERLOOP_SINK_ENDPOINT": google.url,
        "EVERLOOP_SINK_ROWS_MAX": "2",
    }
    with subprocess.Popen(words, env=environment) as process:  # noqa: S603 - ourselves
        killer.aim(process.pid)
        assert process.wait() == -signal.SIGKILL
    assert len(google.rows()) == 2 * batches
    assert _sink(log, google).catch_up() == SyncResult(5 - 2 * batches, 0, 5)
    assert _is_whole(log, google)


def test_without_credentials_it_says_how_to_get_them(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "everloop", "log", "sink", "bigquery", PLACE]
    nowhere = {"GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "none.json")}
    environment = {**nowhere, "EVERLOOP_HOME": str(tmp_path)}
    done = subprocess.run(  # noqa: S603 - ourselves
        words, env=environment, capture_output=True, text=True, check=False
    )
    assert "no Google credentials were found" in done.stderr
    assert "gcloud auth application-default login" in " ".join(done.stderr.split())
    assert "none.json" not in done.stderr
