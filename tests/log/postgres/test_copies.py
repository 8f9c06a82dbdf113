"""A node's copy is a cache: whatever happens to it, it is restored from the server or not used."""

import shutil
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
from psycopg import sql
from tests.log.postgres.nodes import (
    Nodes,
    Place,
    eventually,
    full_content,
    said,
    say,
    wait_for_head,
)

from everloop.errors import Corrupt, Unavailable
from everloop.log import Log
from everloop.log.integrity.verify import verify_log
from everloop.log.postgres.schema import MIGRATIONS
from everloop.testing.postgres import PostgresServer

PRIVATE = "the private words that must go"


def log_with_history(log: Log) -> Log:
    """A log with branches, retractions, a purge and a few hundred facts."""
    say(log, "one", "two", "three")
    say(log, *(f"word {number} {'of many ' * 20}" for number in range(300)), stream="long")
    log.rewind(2, actor="user")
    log.retract([1], reason="wrong", actor="user")
    log.purge([50], reason="private", actor="user")
    say(log, "last")
    return log


def deleted(path: Path) -> None:
    """The file is missing; SQLite's files next to it may remain."""
    path.unlink()


def first_page_overwritten(path: Path) -> None:
    """The file's first page is garbage."""
    with path.open("r+b") as file:
        file.write(b"garbage!" * 512)


def later_pages_overwritten(path: Path) -> None:
    """The file's first page is good, but what follows is garbage."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))


def truncated(path: Path) -> None:
    """The file ends too early."""
    with path.open("r+b") as file:
        file.truncate(8192)


def outdated(path: Path) -> None:
    """The file is a good copy, but was written before the last facts."""
    shutil.copy(path.with_suffix(".old"), path)


@pytest.mark.parametrize(
    "happen",
    [deleted, first_page_overwritten, later_pages_overwritten, truncated, outdated],
    ids=lambda f: f.__name__,
)
@pytest.mark.promise("P-PG-4")
def test_a_missing_damaged_or_old_copy_is_restored_from_the_server(
    nodes: Nodes, happen: Callable[[Path], None]
) -> None:
    a = log_with_history(nodes.open("a"))
    path = nodes.place.copy("a")
    a.close()
    shutil.copy(path, path.with_suffix(".old"))
    other = nodes.open("other")
    say(other, "while it was away")
    happen(path)
    again = nodes.open("a")
    eventually(lambda: full_content(again) == full_content(other))
    head = other.head
    assert say(again, "and on") == head + 1


@pytest.mark.parametrize("happen", [deleted, later_pages_overwritten], ids=lambda f: f.__name__)
def test_a_copy_lost_while_the_node_runs_is_restored_from_the_server(
    nodes: Nodes, happen: Callable[[Path], None]
) -> None:
    a, other = log_with_history(nodes.open("a")), nodes.open("other")
    a.maintenance.checkpoint()  # so that the file itself is what everybody reads
    happen(nodes.place.copy("a"))
    eventually(lambda: full_content(a) == full_content(other))
    eventually(lambda: say(a, "and on", request_id="r") > 0)
    wait_for_head(other, a.head)
    assert full_content(a) == full_content(other)


def test_a_copy_of_another_log_is_dropped(
    nodes: Nodes, postgres: PostgresServer, tmp_path: Path
) -> None:
    elsewhere = Nodes(Place(postgres.url, f"{tmp_path} elsewhere", str(tmp_path)))
    log_with_history(elsewhere.open("foreign"))
    elsewhere.close()
    say(nodes.open("a"), "ours")
    shutil.copy(tmp_path / "foreign.db", tmp_path / "b.db")
    b = nodes.open("b")
    assert said(b) == ["ours"]
    assert full_content(b) == full_content(nodes.open("c"))


def restore_server_to(nodes: Nodes, head: int) -> None:
    """Restore an older backup of the database, as an administrator would."""
    with connection_without_triggers(nodes) as (db, table):
        db.execute(sql.SQL("DELETE FROM {} WHERE position > {}").format(table, head))
        db.execute(
            "UPDATE everloop.tenants SET head = %s WHERE name = %s", (head, nodes.place.tenant)
        )


@contextmanager
def connection_without_triggers(
    nodes: Nodes,
) -> Generator[tuple[psycopg.Connection, sql.Identifier]]:
    """A connection without triggers on the tenant's table, and the name of the table."""
    table = sql.Identifier(*nodes.table.split("."))
    with psycopg.connect(nodes.place.url) as db:
        db.execute(sql.SQL("ALTER TABLE {} DISABLE TRIGGER USER").format(table))
        yield db, table
        db.execute(sql.SQL("ALTER TABLE {} ENABLE TRIGGER USER").format(table))


@pytest.mark.promise("P-LOG-14")
@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE {} SET data = replace(data, 'two', 'ten') WHERE position = 2", "differs from"),
        ("UPDATE {} SET digest = sha256('x') WHERE position = 2", "differs from"),
        ("UPDATE {} SET recorded_at = recorded_at - 1 WHERE position = 2", "differs from"),
        ("DELETE FROM {} WHERE position = 2", "is missing at the server"),
    ],
)
def test_damage_at_the_server_is_found_by_a_node_that_has_a_good_copy(
    nodes: Nodes, damage: LiteralString, problem: str
) -> None:
    a = nodes.open("a")
    say(a, "one", "two", "three")
    assert verify_log(a).ok
    with connection_without_triggers(nodes) as (db, table):
        db.execute(sql.SQL(damage).format(table))
    (found,) = verify_log(a).damage
    assert (found.first, found.last) == (2, 2)
    assert problem in found.problem


def test_a_recent_purge_by_another_node_is_not_reported_as_damage(nodes: Nodes) -> None:
    a = nodes.open("a")
    say(a, "one", "two")
    with connection_without_triggers(nodes) as (
        db,
        table,
    ):  # as it is before the news of the purge has arrived
        db.execute(
            sql.SQL(
                "UPDATE {} SET seal = sha256(salt || convert_to(data, 'UTF8')), data = NULL,"
                " salt = NULL WHERE position = 2"
            ).format(table)
        )
    assert verify_log(a).ok


def test_a_copy_that_is_ahead_of_a_restored_server_is_dropped(nodes: Nodes) -> None:
    a = nodes.open("a")
    say(a, "kept")
    say(a, "lost", "lost as well")
    a.fork(name="lost too", actor="user")
    a.close()
    restore_server_to(nodes, 1)
    again = nodes.open("a")
    assert said(again) == ["kept"]
    assert "lost too" not in again.branches


def test_a_running_node_notices_that_the_server_was_restored(nodes: Nodes) -> None:
    a, b = nodes.open("a"), nodes.open("b")
    say(a, "kept")
    say(a, "lost", "lost as well")
    a.fork(name="lost too", actor="user")
    wait_for_head(b, 4)
    restore_server_to(nodes, 1)
    say(b, "new history", "and more")
    eventually(lambda: said(a) == ["kept", "new history", "and more"])
    assert "lost too" not in a.branches
    assert full_content(a) == full_content(b)
    assert say(a, "goes on") == 4


def test_a_record_tampered_with_at_the_server_is_not_copied(nodes: Nodes) -> None:
    a = nodes.open("a")
    say(a, "what was said")
    say(a, "more")
    with connection_without_triggers(nodes) as (db, table):
        change = "UPDATE {} SET data = replace(data, 'was', 'is') WHERE position = 1"
        db.execute(sql.SQL(change).format(table))
    with pytest.raises(Corrupt, match="record 1"):
        nodes.open("b")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM {table}",
        "TRUNCATE {table}",
        "UPDATE {table} SET data = '{{}}'",
        "UPDATE {table} SET actor = 'someone else'",
        "UPDATE {table} SET data = NULL, salt = NULL, seal = sha256('x'), kind = 'other'",
        "INSERT INTO {table} SELECT * FROM {table}",
    ],
)
def test_the_server_refuses_to_edit_a_record(nodes: Nodes, statement: str) -> None:
    a = nodes.open("a")
    say(a, "words")
    with pytest.raises(psycopg.Error, match=r"append-only|never edited|duplicate key"):
        nodes.ask_server(statement.format(table=nodes.table))
    assert said(nodes.open("b")) == ["words"]


def test_tables_of_a_newer_build_are_left_alone(postgres_url: str, tmp_path: Path) -> None:
    nodes = Nodes(Place(postgres_url, "t", str(tmp_path)))
    nodes.open("a").close()
    with psycopg.connect(postgres_url) as db:
        db.execute("INSERT INTO everloop.migrations (number) VALUES (%s)", (len(MIGRATIONS) + 1,))
    with pytest.raises(Corrupt, match="newer Everloop") as caught:
        nodes.open("b")
    assert "Upgrade" in caught.value.hint


def test_tables_of_the_first_format_are_migrated(postgres_url: str, tmp_path: Path) -> None:
    nodes = Nodes(Place(postgres_url, "t", str(tmp_path)))
    nodes.open("a").close()
    with psycopg.connect(postgres_url) as db:
        db.execute("DELETE FROM everloop.migrations WHERE number > 1")
        db.execute("ALTER TABLE everloop.log ALTER COLUMN data SET STATISTICS -1")
    nodes.open("b").close()
    kept = nodes.ask_server(
        "SELECT relname, attstattarget FROM pg_attribute JOIN pg_class c ON c.oid = attrelid"
        " WHERE attname = 'data' AND relkind IN ('r', 'p') AND relname LIKE 'log%' ORDER BY 1"
    )
    assert [target for _, target in kept] == [0, 0], kept


def _is_free_of(path: Path) -> bool:
    """Whether the private text is in neither a copy nor SQLite's files next to it."""
    files = (file for file in path.parent.glob(f"{path.name}*") if file.is_file())
    return not any(PRIVATE.encode() in file.read_bytes() for file in files)


def test_a_purge_reaches_every_node_and_the_server(nodes: Nodes, postgres: PostgresServer) -> None:
    a, b = nodes.open("a"), nodes.open("b")
    position = say(a, PRIVATE)
    say(a, "harmless")
    wait_for_head(b, 2)
    away = nodes.open("away")
    away.close()
    a.purge([position], reason="private", actor="user")
    wait_for_head(b, 3)
    again = nodes.open("away")
    for log, name in ((a, "a"), (b, "b"), (again, "away")):
        assert said(log) == ["harmless"]
        assert log.record(position).purged
        eventually(partial(_is_free_of, nodes.place.copy(name)))
    assert full_content(a) == full_content(b) == full_content(again)
    assert PRIVATE.encode() not in _tables(nodes, postgres)


def _tables(nodes: Nodes, server: PostgresServer) -> bytes:
    """All bytes of the server's tables, once it has written them to the disk."""
    with psycopg.connect(nodes.place.url, autocommit=True) as db:
        db.execute("CHECKPOINT")
    files = (path for path in (server.data / "base").rglob("*") if path.is_file())
    return b"".join(path.read_bytes() for path in files)


def test_control_the_servers_tables_contain_text_that_was_not_purged(
    nodes: Nodes, postgres: PostgresServer
) -> None:
    kept = "words of its own, because other tests share the server"
    say(nodes.open("a"), kept)
    assert kept.encode() in _tables(nodes, postgres)


@contextmanager
def old_snapshot(nodes: Nodes) -> Generator[psycopg.Connection]:
    """A session at the server with an old snapshot, which still sees deleted rows."""
    with psycopg.connect(nodes.place.url) as db:
        db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        db.execute("SELECT count(*) FROM everloop.tenants")
        yield db


def test_a_purge_waits_for_sessions_that_still_see_the_text_at_the_server(
    nodes: Nodes, postgres: PostgresServer
) -> None:
    a = nodes.open("a")
    position = say(a, PRIVATE)
    with old_snapshot(nodes) as old, ThreadPoolExecutor() as pool:
        purging = pool.submit(a.purge, [position], reason="private", actor="user")
        wait_for_head(a, 2)  # erased in the log; what is left is to rewrite the table
        old.rollback()
        purging.result()
    assert PRIVATE.encode() not in _tables(nodes, postgres)


def test_a_session_that_still_sees_purged_text_is_reported_and_a_later_scrub_erases_it(
    nodes: Nodes, postgres: PostgresServer
) -> None:
    a = nodes.open("a")
    position = say(a, PRIVATE)
    with old_snapshot(nodes), pytest.raises(Unavailable, match="still sees") as told:
        a.purge([position], reason="private", actor="user")
    assert "everloop log scrub" in told.value.hint
    a.scrub()
    assert PRIVATE.encode() not in _tables(nodes, postgres)


def test_the_servers_statistics_contain_no_payloads(nodes: Nodes, postgres: PostgresServer) -> None:
    a = nodes.open("a")
    position = say(a, *(f"{PRIVATE} {number}" for number in range(100)))
    with psycopg.connect(nodes.place.url, autocommit=True) as db:
        db.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(*nodes.table.split("."))))
    a.purge(range(1, position + 1), reason="private", actor="user")
    assert PRIVATE.encode() not in _tables(nodes, postgres)


def test_a_scrub_prevented_by_a_crash_runs_at_the_next_start(nodes: Nodes) -> None:
    a, b = nodes.open("a"), nodes.open("b")
    position = say(a, PRIVATE)
    wait_for_head(b, 1)
    a.purge([position], reason="private", actor="user")
    wait_for_head(b, 2)
    mark = Path(f"{nodes.place.copy('b')}.scrubbed")
    eventually(mark.exists)
    b.close()
    mark.unlink()  # as if it had been killed before it was done
    nodes.open("b")
    assert mark.read_text() == "2"
