"""The throw-away PostgreSQL server: durable, can be killed, leaves nothing behind."""

import os
from pathlib import Path

import psutil
import psycopg
import pytest

from everloop.testing.postgres import (
    PostgresServer,
    copy_programs,
    find_programs,
    postgres_server,
)


def test_an_acknowledged_row_survives_a_hard_kill(tmp_path: Path) -> None:
    with postgres_server(tmp_path) as server:
        with psycopg.connect(server.url, autocommit=True) as db:
            db.execute("CREATE TABLE kept (words text)")
            db.execute("INSERT INTO kept VALUES ('acknowledged')")
            server.kill()
            with pytest.raises(psycopg.OperationalError):
                db.execute("INSERT INTO kept VALUES ('too late')")
        server.start()
        with psycopg.connect(server.url) as db:
            assert db.execute("SELECT words FROM kept").fetchall() == [("acknowledged",)]


def test_an_open_transaction_does_not_survive_a_hard_kill(tmp_path: Path) -> None:
    with postgres_server(tmp_path) as server:
        with psycopg.connect(server.url, autocommit=True) as db:
            db.execute("CREATE TABLE kept (words text)")
        db = psycopg.connect(server.url)
        db.execute("INSERT INTO kept VALUES ('never committed')")
        server.kill()
        db.close()
        server.start()
        with psycopg.connect(server.url) as db:
            assert db.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_no_process_and_no_file_remains(tmp_path: Path) -> None:
    with postgres_server(tmp_path) as server:
        data = server.data
        main_pid = int((data / "postmaster.pid").read_text().split()[0])
        assert psutil.pid_exists(main_pid)
    assert not psutil.pid_exists(main_pid)
    assert not data.exists()
    assert not server.running


@pytest.mark.parametrize("programs", find_programs(), ids=lambda p: p.parent.name)
def test_every_postgresql_on_this_machine_works(tmp_path: Path, programs: Path) -> None:
    with postgres_server(tmp_path, programs) as server, psycopg.connect(server.url) as db:
        assert db.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to hand its programs on")
def test_programs_that_only_root_can_reach_are_copied(tmp_path: Path) -> None:
    hidden = copy_programs(find_programs()[0], tmp_path / "only-root")
    (tmp_path / "only-root").chmod(0o700)
    with postgres_server(tmp_path, hidden) as server:
        assert server.running


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes", "synchronous_commit"])
def test_a_commit_waits_for_the_disk(postgres: PostgresServer, setting: str) -> None:
    with psycopg.connect(postgres.url) as db:
        answer = db.execute("SELECT current_setting(%s)", (setting,)).fetchone()
    assert answer == ("on",)


def test_each_test_has_an_empty_database(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as db:
        db.execute("CREATE TABLE mine (id int)")
        tables = db.execute("SELECT count(*) FROM pg_stat_user_tables").fetchone()
    assert tables == (1,)
