"""Bad events and bad files are refused with a clear error and change nothing."""

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.log.samples import Counted, Said

from everloop.errors import Conflict, Corrupt, EverloopError, Invalid, NotFound, Unavailable
from everloop.log import Draft, Event, Log, event
from everloop.log.schema import MIGRATIONS
from everloop.log.sqlite.errors import require_safe_sqlite
from everloop.testing.deterministic import DeterministicPorts

HALF_A_CHARACTER = "\ud83d"
TEN_MEGABYTES = "x" * 10_000_000
Act = Callable[[Log], object]


@event("sample.anything_noted")
class AnythingNoted(Event, frozen=True):
    """Something of any shape was noted."""

    value: Any


@event("sample.measures_taken")
class MeasuresTaken(Event, frozen=True):
    """Numbers in typed collections."""

    values: tuple[float, ...]
    by_channel: dict[int, float]


class Undeclared(Event, frozen=True):
    """An event class that was never declared."""

    text: str


def endless() -> list[Any]:
    """A list that contains itself."""
    circle: list[Any] = []
    circle.append(circle)
    return circle


def deep() -> list[Any]:
    """Lists nested too deeply for any decoder."""
    nest: list[Any] = []
    for _ in range(100_000):
        nest = [nest]
    return nest


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with closing(DeterministicPorts().open(tmp_path / "everloop.db")) as opened:
        opened.append("s", [Said("before")], actor="user", request_id="before")
        yield opened


def refuses(log: Log, act: Act, error: type[EverloopError]) -> None:
    """Assert that `act` fails with a clear error and the log is unchanged and usable."""
    head = log.head
    with pytest.raises(error) as refused:
        act(log)
    assert type(refused.value) is error
    assert str(refused.value)
    assert refused.value.hint
    assert log.head == head
    assert log.append("s", [Said("after")], actor="user").position == head + 1


def appending(happened: Event | Draft, **more: Any) -> Act:
    envelope: dict[str, Any] = {"actor": "user", **more}
    return lambda log: log.append("s", [happened], **envelope)


@pytest.mark.parametrize(
    "happened",
    [
        pytest.param(Counted(math.nan), id="NaN"),
        pytest.param(Counted(-math.inf), id="infinity"),
        pytest.param(AnythingNoted({"deep": [1, {"down": math.nan}]}), id="NaN inside"),
        pytest.param(Said(HALF_A_CHARACTER), id="half a character"),
        pytest.param(AnythingNoted({HALF_A_CHARACTER: 1}), id="half a character as key"),
        pytest.param(Said(TEN_MEGABYTES), id="ten megabytes"),
        pytest.param(Said("\u20ac" * 400_000), id="few characters, many bytes"),
        pytest.param(Undeclared("x"), id="undeclared"),
        pytest.param(AnythingNoted(object()), id="no JSON"),
        pytest.param(Said(5), id="a number for a text"),  # type: ignore[arg-type]
        pytest.param(AnythingNoted((1, 2)), id="a tuple that would come back as a list"),
        pytest.param(AnythingNoted({1: 2}), id="a key that would come back as text"),
        pytest.param(AnythingNoted(endless()), id="endless"),
        pytest.param(AnythingNoted(deep()), id="too deep"),
    ],
)
def test_an_event_that_cannot_be_recorded_is_refused(log: Log, happened: Event) -> None:
    refuses(log, appending(happened), Invalid)


@pytest.mark.parametrize(
    "happened",
    [
        MeasuresTaken((0.5, -1.0, 1e300), {7: 1.5}),
        AnythingNoted({"list": [1, 2.5, None, True], "big": 2**70}),
        Said("zero \0, line \n, \u2028, \U0001f600"),
    ],
)
def test_an_event_that_decodes_to_an_equal_one_is_accepted(log: Log, happened: Event) -> None:
    log.append("other", [happened], actor="user")
    assert [fact.event for fact in log.read("other")] == [happened]


def test_one_bad_event_refuses_the_good_ones_of_its_append(log: Log) -> None:
    batch = [Said("good"), Counted(math.nan), Said("good too")]
    refuses(log, lambda log: log.append("s", batch, actor="user"), Invalid)


@pytest.mark.parametrize("stream", ["", "x" * 201, "log", HALF_A_CHARACTER])
def test_a_bad_stream_name_is_refused(log: Log, stream: str) -> None:
    refuses(log, lambda log: log.append(stream, [Said("x")], actor="user"), Invalid)


@pytest.mark.parametrize("given", ["actor", "request_id", "branch"])
def test_a_lone_surrogate_in_the_envelope_is_refused(log: Log, given: str) -> None:
    error = NotFound if given == "branch" else Invalid
    refuses(log, appending(Said("x"), **{given: HALF_A_CHARACTER}), error)


def test_an_append_of_nothing_is_refused(log: Log) -> None:
    refuses(log, lambda log: log.append("s", [], actor="user"), Invalid)


@pytest.mark.parametrize("expected", [0, 2, -1, 10**6])
def test_a_wrong_expected_version_is_a_conflict(log: Log, expected: int) -> None:
    refuses(log, appending(Said("x"), expected=expected), Conflict)


def test_a_request_id_used_for_something_else_is_a_conflict(log: Log) -> None:
    refuses(log, appending(Said("other"), request_id="before"), Conflict)


def test_a_request_id_used_on_another_stream_is_a_conflict(log: Log) -> None:
    refuses(
        log,
        lambda log: log.append("t", [Said("before")], actor="user", request_id="before"),
        Conflict,
    )


@pytest.mark.parametrize("source", [0, -1, 2, 10**12])
def test_a_source_that_does_not_exist_is_refused(log: Log, source: int) -> None:
    refuses(log, appending(Draft(Said("x"), because=(source,))), Invalid)


NOT_THERE: list[tuple[Act, type[EverloopError]]] = [
    (lambda log: log.append("s", [Said("x")], actor="user", branch="nowhere"), NotFound),
    (lambda log: log.fork(parent="nowhere", actor="user"), NotFound),
    (lambda log: log.fork(at=99, actor="user"), Invalid),
    (lambda log: log.fork(name="main", actor="user"), Conflict),
    (lambda log: log.switch_branch("nowhere", actor="user"), NotFound),
    (lambda log: log.rewind(99, actor="user"), Invalid),
    (lambda log: log.rewind(1, tree="nowhere", actor="user"), NotFound),
    (lambda log: log.preview_rewind(1, tree="nowhere"), NotFound),
    (lambda log: log.retract([99], reason="", actor="user"), NotFound),
    (lambda log: log.retract([], reason="", actor="user"), Invalid),
    (lambda log: log.purge([99], reason="", actor="user"), NotFound),
    (lambda log: log.purge([], reason="", actor="user"), Invalid),
    (lambda log: log.record(99), NotFound),
    (lambda log: list(log.read("s", branch="nowhere")), NotFound),
]


@pytest.mark.parametrize(("act", "error"), NOT_THERE)
def test_references_to_missing_things_are_refused(
    log: Log, act: Act, error: type[EverloopError]
) -> None:
    refuses(log, act, error)


ON_A_CLOSED_LOG: list[Act] = [
    appending(Said("x")),
    lambda log: log.head,
    lambda log: list(log.read("s")),
    lambda log: log.fork(actor="user"),
    lambda log: log.purge([1], reason="", actor="user"),
    lambda log: log.scrub(),
]


@pytest.mark.parametrize("act", ON_A_CLOSED_LOG)
def test_a_closed_log_refuses_every_operation(log: Log, act: Act) -> None:
    log.close()
    with pytest.raises(Unavailable, match="closed") as refused:
        act(log)
    assert refused.value.hint


def test_closing_twice_is_harmless(log: Log) -> None:
    log.close()
    log.close()


def not_opened(path: Path, error: type[EverloopError], match: str) -> None:
    """Assert that opening fails with a clear error and leaves the file unchanged."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(error, match=match) as refused:
        DeterministicPorts().open(path)
    assert refused.value.hint
    if before is not None:
        assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"Dear diary, " * 500, b"\0" * 8192, b"SQLite format 3\0"])
def test_a_file_that_is_not_a_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "everloop.db"
    path.write_bytes(content)
    not_opened(path, Corrupt, "damaged")


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_database_that_is_not_ours_is_left_alone(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "everloop.db"
    db = apsw.Connection(str(path))
    db.execute(f"PRAGMA journal_mode = {mode}").fetchall()
    db.execute("CREATE TABLE recipes (name TEXT)")
    db.close()
    not_opened(path, Corrupt, "not an Everloop log")


def test_a_log_of_a_newer_everloop_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "everloop.db"
    DeterministicPorts().open(path).close()
    db = apsw.Connection(str(path))
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    not_opened(path, Corrupt, "newer Everloop")


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    not_opened(tmp_path, Unavailable, "cannot be opened")


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    not_opened(tmp_path / "nowhere" / "everloop.db", Unavailable, "cannot be created")


@pytest.mark.parametrize("version", ["3.40.1", "3.7.0", "3.51.2"])
def test_a_sqlite_that_can_corrupt_a_shared_log_is_refused(version: str) -> None:
    with pytest.raises(Unavailable, match=version) as refused:
        require_safe_sqlite(version)
    assert refused.value.hint


@pytest.mark.parametrize("version", ["3.51.3", "3.54.1", "4.0.0"])
def test_a_sqlite_without_that_bug_is_accepted(version: str) -> None:
    require_safe_sqlite(version)
