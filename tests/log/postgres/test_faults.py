"""Failures of the server: every acknowledged append is recorded exactly once."""

import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import psycopg
import pytest
from tests.log.postgres.nodes import (
    Nodes,
    Place,
    assert_sound,
    eventually,
    processes,
    said,
    say,
    wait_for_head,
    write_until_killed,
)
from tests.log.postgres.proxy import Fault, proxy_before

from everloop.adapters.system import system_ports
from everloop.errors import Invalid, Unavailable
from everloop.log import Limits
from everloop.log.postgres.sequencer import open_postgres_log
from everloop.testing.faulty_disk import faulty_disk
from everloop.testing.postgres import PostgresServer, postgres_server

WRITERS = 3


@pytest.mark.promise("P-LOG-2")
@pytest.mark.parametrize("kills", [10, pytest.param(500, marks=pytest.mark.soak)])
def test_killing_the_server_loses_and_duplicates_no_append(tmp_path: Path, kills: int) -> None:
    names = [f"writer{number}" for number in range(WRITERS)]
    books = {name: tmp_path / f"{name}.acknowledged" for name in names}
    with postgres_server(tmp_path) as server:
        place = Place(server.url, "killed", str(tmp_path))
        calls = [(place, name, books[name]) for name in names]
        with processes(write_until_killed, calls):
            for _ in range(kills):
                _let_them_write(books.values())
                server.kill()
                server.start()
            _let_them_write(books.values())
        nodes = Nodes(place)
        log = nodes.open("reader")
        present = Counter(record.request_id for record in log.records())
        acknowledged = {line for book in books.values() for line in book.read_text().split()}
        assert acknowledged - present.keys() == set()
        assert set(present.values()) == {1}
        assert len(present) - len(acknowledged) <= WRITERS
        assert_sound(log)
        nodes.close()


def _let_them_write(books: Iterable[Path]) -> None:
    """Wait until each process has some more acknowledged appends."""
    before = {book: _size(book) for book in books}
    eventually(lambda: all(_size(book) > size + 100 for book, size in before.items()))


def _size(book: Path) -> int:
    return book.stat().st_size if book.exists() else 0


@pytest.mark.parametrize("fault", get_args(Fault))
@pytest.mark.promise("P-LOG-2")
def test_a_connection_lost_at_commit_is_resolved_by_request_id(nodes: Nodes, fault: Fault) -> None:
    with proxy_before(nodes.place.url) as (proxy, url):
        through = Nodes(Place(url, nodes.place.tenant, nodes.place.folder))
        log = through.open("a")
        say(log, "first")
        proxy.cut_next_commit(fault)
        try:
            receipt = say(log, "in doubt", request_id="r")
        except Unavailable:
            receipt = 0
        assert proxy.cuts == 1
        assert bool(receipt) == (fault == "before the answer is back")
        assert said(nodes.open("b")) == ["first", "in doubt"][: 1 + bool(receipt)]
        assert say(log, "in doubt", request_id="r") == 2
        assert said(log) == ["first", "in doubt"]
        assert say(log, "third") == 3
        through.close()


def test_an_append_without_a_request_id_is_also_resolved_after_a_lost_connection(
    nodes: Nodes,
) -> None:
    with proxy_before(nodes.place.url) as (proxy, url):
        through = Nodes(Place(url, nodes.place.tenant, nodes.place.folder))
        log = through.open("a")
        say(log, "first")  # after which every statement is prepared
        proxy.cut_next_commit("before the answer is back")
        assert say(log, "once") == 2
        assert proxy.cuts == 1
        assert said(log) == ["first", "once"]
        through.close()


def test_a_node_reconnects_by_itself_after_the_server_was_down(tmp_path: Path) -> None:
    with postgres_server(tmp_path) as server:
        nodes = Nodes(Place(server.url, "t", str(tmp_path)))
        limits = Limits(lock_wait_s=0.2)
        a, b = nodes.open("a", limits), nodes.open("b", limits)
        say(a, "before")
        wait_for_head(b, 1)
        claim = b.claim("work")
        assert claim is not None
        assert b.problems == []
        server.kill()
        assert not claim.held
        eventually(lambda: len(b.problems) == 1)
        (trouble,) = b.problems
        assert "does not arrive here" in str(trouble)
        assert trouble.hint
        assert said(b) == ["before"]
        with pytest.raises(Unavailable) as caught:
            say(a, "while it is away")
        assert "reconnects by itself" in caught.value.hint
        server.start()
        eventually(lambda: say(a, "after") > 0)
        wait_for_head(b, 2)
        assert said(b) == ["before", "after"]
        eventually(lambda: not b.problems)
        assert a.claim("work", wait_s=10) is not None
        nodes.close()


def test_a_follower_whose_connection_was_ended_connects_again(nodes: Nodes) -> None:
    a, b = nodes.open("a"), nodes.open("b")
    say(a, "before")
    wait_for_head(b, 1)
    nodes.ask_server(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'everloop' AND pid <> pg_backend_pid()"
    )
    assert say(a, "after") == 2
    wait_for_head(b, 2)
    assert said(b) == ["before", "after"]


def test_an_append_is_recorded_once_if_the_disk_of_the_copy_is_full(nodes: Nodes) -> None:
    with faulty_disk() as disk:
        a, b = nodes.open("a", vfs=disk.name), nodes.open("b")
        say(a, "first")
        disk.full = True
        assert say(a, "durable at the server") == 2
        assert said(a) == ["first"]
        wait_for_head(b, 2)
        disk.heal()
        eventually(lambda: said(a) == said(b) == ["first", "durable at the server"])
        assert say(a, "third") == 3
        a.close()


@pytest.fixture
def refused(postgres: PostgresServer) -> PostgresServer:
    """The shared server, with a user that needs a password and one without permissions."""
    with psycopg.connect(postgres.url, autocommit=True) as db:
        db.execute("DROP ROLE IF EXISTS asked; CREATE ROLE asked LOGIN PASSWORD 'right'")
        db.execute("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN")
        rules = postgres.data / "pg_hba.conf"
        if "asked" not in rules.read_text():
            rules.write_text(f"local all asked scram-sha-256\n{rules.read_text()}")
        db.execute("SELECT pg_reload_conf()")
    eventually(lambda: _is_asked(postgres))
    return postgres


def _is_asked(server: PostgresServer) -> bool:
    try:
        psycopg.connect(server.url.replace("postgres@", "asked@")).close()
    except psycopg.OperationalError:
        return True
    return False


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        (("postgres@", "asked:wrong@"), "refused the login", "password"),
        (("postgres@", "asked@"), "refused the login", "password"),
        (("postgres@", "stranger@"), "does not know the user", "createuser"),
        (("/postgres?", "/nowhere?"), "has no such database", "createdb"),
        (("pg-", "gone-"), "does not answer", "Check that it runs"),
        (("/postgres?host=", "/postgres?hostaddr=127.0.0.1&port=1&host="), "not answer", "address"),
    ],
    ids=["wrong password", "no password", "no user", "no database", "no socket", "no server"],
)
def test_a_refused_login_says_why_and_what_to_do(
    refused: PostgresServer, tmp_path: Path, change: tuple[str, str], message: str, hint: str
) -> None:
    url = refused.url.replace(*change)
    assert url != refused.url
    began = time.monotonic()
    with pytest.raises(Unavailable, match=message) as caught:
        Place(url, "t", str(tmp_path)).open("a")
    assert hint in caught.value.hint
    assert "wrong@" not in f"{caught.value} {caught.value.hint}"
    assert time.monotonic() - began < 10


def test_a_user_who_cannot_create_tables_gets_a_clear_error(
    refused: PostgresServer, tmp_path: Path
) -> None:
    with refused.fresh_database() as url:
        place = Place(url.replace("postgres@", "guest@"), "t", str(tmp_path))
        with pytest.raises(Unavailable, match="has no permission") as caught:
            place.open("a")
        assert "GRANT" in caught.value.hint


def test_an_invalid_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="is not valid"):
        open_postgres_log("postgresql://[bad", tmp_path / "a.db", ports=system_ports(0.1))
