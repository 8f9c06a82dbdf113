"""The file of a log: readers while it is replaced or written by others."""

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest
from tests.log.samples import Said

from everloop.adapters.system import system_ports
from everloop.app import Engine
from everloop.errors import EverloopError, NotFound, Unavailable
from everloop.log import Log, open_log, visible
from everloop.log.model.facts import NoteWritten

ROUNDS = 40


@pytest.fixture
def quick_switches() -> Generator[None]:
    """Switch threads far more often than normal."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


@contextmanager
def readers(log: Log, count: int) -> Generator[set[str]]:
    """Threads that read without pause; returns the errors they got."""
    errors: set[str] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                with log.file.reading() as reader:
                    reader.head()
            except EverloopError as problem:
                errors.add(str(problem))

    threads = [threading.Thread(target=read) for _ in range(count)]
    for thread in threads:
        thread.start()
    yield errors
    done.set()
    for thread in threads:
        thread.join()


def replace_file(log: Log) -> None:
    """Replace the file, as a node does with an untrusted copy; retries if it fails."""
    with log.commit_queue.write_lock:
        log.transactions.close()
        log.file.discard()
        while True:
            try:
                log.transactions.open()
            except Unavailable as problem:
                assert "locked by another" in str(problem)  # noqa: PT017 - it may be, for a moment
            else:
                return


@pytest.mark.usefixtures("quick_switches")
def test_a_replaced_file_is_never_mixed_with_the_old_one(tmp_path: Path) -> None:
    log = open_log(tmp_path / "copy.db", ports=system_ports(60))
    with readers(log, 2) as errors:
        for number in range(ROUNDS):
            replace_file(log)
            log.append("s", [Said(f"round {number}")], actor="user")
            (fact,) = log.read("s")
            assert fact.event == Said(f"round {number}")
    log.close()
    assert errors <= {"copy.db: no such table: log"}, "what is there is new, or not there yet"


def test_cached_file_state_is_valid_until_somebody_writes(tmp_path: Path) -> None:
    path = tmp_path / "everloop.db"
    log, other = (open_log(path, ports=system_ports(1)) for _ in range(2))
    first = log.append("thread:home", [Said("one")], actor="user")
    with log.reading() as reader:
        state = reader.state
    with log.reading() as reader:
        assert reader.state is state
    other.append("thread:home", [Said("two")], actor="user")
    with log.reading() as reader:
        assert reader.state is not state
        assert reader.state is not None
        assert reader.state.head == reader.head() == first.position + 1
    log.close()
    other.close()


def test_a_reader_begins_with_one_query_if_nothing_changed(tmp_path: Path) -> None:
    log = open_log(tmp_path / "everloop.db", ports=system_ports(1))
    log.append("thread:home", [Said("one")], actor="user")
    asked: list[str] = []

    def note(_: object, sql: str, __: object) -> bool:
        asked.append(sql)
        return True

    for _ in range(2):
        asked.clear()
        with log.reading() as reader:
            reader.cursor.exec_trace = reader.db.exec_trace = note
    assert asked == ["BEGIN", "SELECT max(position) FROM log", "COMMIT"]
    log.close()


def test_a_reused_reader_sees_a_retraction_by_another_writer(tmp_path: Path) -> None:
    path = tmp_path / "everloop.db"
    log, other = (open_log(path, ports=system_ports(1)) for _ in range(2))
    said = log.append("thread:home", [Said("one")], actor="user")
    counted = f"SELECT count(*) FROM log WHERE stream = 'thread:home' AND {visible('log')}"  # noqa: S608 - our own condition
    for expected in (1, 0):
        with log.reading() as reader:
            assert reader.rows(counted) == [(expected,)]
        if expected:
            other.retract([said.position], reason="wrong", actor="user")
    log.close()
    other.close()


def test_a_reader_that_fails_while_it_begins_returns_to_the_pool(tmp_path: Path) -> None:
    log = open_log(tmp_path / "everloop.db", ports=system_ports(1))
    for _ in range(3):
        with pytest.raises(NotFound), log.reading(branch="nowhere"):
            pass
    with log.reading() as reader:
        assert reader.head() == 0
    log.close()


def test_the_files_of_a_log_are_for_their_owner_alone(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        engine.log.append("s", [NoteWritten("secret")], actor="user")
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("everloop.db*")}
    assert len(modes) > 1
    assert {mode & 0o077 for mode in modes.values()} == {0}


def test_a_query_is_not_prepared_again_for_each_binding(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine, engine.reading() as reader:
        assert reader.db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1) == 1
