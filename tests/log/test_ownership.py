"""Claims: one owner at a time for each background task, and a new one when it dies."""

import os
import signal
import threading
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from tests.log.postgres.nodes import (
    Nodes,
    Place,
    own_file_until_killed,
    own_until_killed,
    processes,
    said,
    wait_for_head,
)

from everloop.errors import Unavailable
from everloop.log import Log
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.postgres import PostgresServer

Open = Callable[[], Log]


@pytest.fixture(params=["file", "postgresql"])
def another(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Open]:
    """Opens one more node on the same log, at either store."""
    opened: list[Log] = []
    nodes: Nodes | None = None
    if request.param == "postgresql":
        nodes = request.getfixturevalue("nodes")

    def open_one() -> Log:
        name = f"node{len(opened)}"
        opened.append(
            nodes.open(name) if nodes else DeterministicPorts().open(tmp_path / "everloop.db")
        )
        return opened[-1]

    yield open_one
    for log in opened:
        log.close()


def test_only_one_node_has_a_claim(another: Open) -> None:
    a, b = another(), another()
    claim = a.claim("summaries")
    assert claim is not None
    assert claim.held
    assert b.claim("summaries") is None
    assert a.claim("summaries") is None
    assert b.claim("embeddings") is not None


def test_a_released_claim_can_be_taken_by_another_node(another: Open) -> None:
    a, b = another(), another()
    with a.claim("summaries") or pytest.fail("nobody has it") as claim:
        assert b.claim("summaries") is None
    assert not claim.held
    taken = b.claim("summaries")
    assert taken is not None
    claim.release()
    assert taken.held


def test_closing_a_log_releases_its_claims(another: Open) -> None:
    a, b = another(), another()
    claim = a.claim("summaries")
    assert claim is not None
    a.close()
    assert not claim.held
    assert b.claim("summaries", wait_s=10) is not None


def test_a_node_that_waits_for_a_claim_gets_it_when_it_is_free(another: Open) -> None:
    a, b = another(), another()
    claim = a.claim("summaries")
    assert claim is not None
    releasing = threading.Timer(0.2, claim.release)
    releasing.start()
    assert b.claim("summaries", wait_s=30) is not None
    releasing.join()


def test_only_one_of_many_simultaneous_claims_succeeds(another: Open) -> None:
    logs = [another() for _ in range(4)]
    got: list[object] = []
    barrier = threading.Barrier(8)

    def want(log: Log) -> None:
        barrier.wait()
        if (claim := log.claim("summaries")) is not None:
            got.append(claim)

    threads = [threading.Thread(target=want, args=(log,)) for log in logs * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1


@pytest.mark.promise("P-PG-3")
def test_a_node_killed_while_it_owns_work_is_replaced(nodes: Nodes) -> None:
    heir = nodes.open("heir")
    with processes(own_until_killed, [(nodes.place, "owner", "work")]) as (owner,):
        wait_for_head(heir, 1)
        assert said(heir, "owned by") == ["owner"]
        assert heir.claim("work") is None
        owner.kill()
        assert heir.claim("work", wait_s=10) is not None


def test_a_suspended_node_loses_its_claim_and_notices(nodes: Nodes) -> None:
    heir = nodes.open("heir")
    own = heir.claim("work of its own")
    assert own is not None
    with processes(own_until_killed, [(nodes.place, "owner", "work")]) as (owner,):
        wait_for_head(heir, 1)
        assert owner.pid is not None
        os.kill(owner.pid, signal.SIGSTOP)
        assert heir.claim("work", wait_s=30) is not None
        os.kill(owner.pid, signal.SIGCONT)
        wait_for_head(heir, 2)
        assert said(heir, "lost by") == ["owner"]
    assert own.held  # longer than a claim lasts without a heartbeat


def test_a_file_claim_of_a_killed_process_is_free_again(tmp_path: Path) -> None:
    path = tmp_path / "everloop.db"
    log = DeterministicPorts().open(path)
    with processes(own_file_until_killed, [(path, "owner", "work")]) as (owner,):
        wait_for_head(log, 1)
        assert log.claim("work") is None
        owner.kill()
        assert log.claim("work", wait_s=10) is not None
    log.close()


def test_a_claim_whose_lock_was_deleted_is_lost(tmp_path: Path) -> None:
    log = DeterministicPorts().open(tmp_path / "everloop.db")
    claim = log.claim("work")
    assert claim is not None
    for lock in (tmp_path / "everloop.db.owners").iterdir():
        lock.unlink()
    assert not claim.held
    assert log.claim("work") is not None
    log.close()


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    log = DeterministicPorts().open(tmp_path / "everloop.db")
    (tmp_path / "everloop.db.owners").write_text("in the way")
    with pytest.raises(Unavailable, match="cannot be written"):
        log.claim("work")
    log.close()


def test_a_claim_is_lost_with_its_session(nodes: Nodes) -> None:
    a, b = nodes.open("a"), nodes.open("b")
    claim = a.claim("work")
    assert claim is not None
    nodes.ask_server(
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"
    )
    assert b.claim("work", wait_s=10) is not None
    assert not claim.held
    assert a.claim("work") is None
    assert a.claim("other work") is not None


def test_tenants_do_not_share_claims(
    nodes: Nodes, postgres: PostgresServer, tmp_path: Path
) -> None:
    other = Nodes(Place(postgres.url, f"{tmp_path} other", str(tmp_path)))
    assert nodes.open("a").claim("work") is not None
    assert other.open("b").claim("work") is not None
    other.close()
