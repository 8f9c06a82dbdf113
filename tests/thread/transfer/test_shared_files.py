"""Files beside messages, where several machines have one log."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from tests.thread.fixtures import PICTURE, PLAIN, show_picture

from everloop.app import Engine
from everloop.errors import NotFound, Unavailable
from everloop.log.model.limits import Limits
from everloop.log.postgres import scrub
from everloop.log.transfer.move import move_log
from everloop.settings import Settings

WAIT_S = 30.0

Open = Callable[[str], Engine]


@pytest.fixture
def machine(postgres_url: str, tmp_path: Path) -> Open:
    """Opens the log of the database on a machine of that name."""

    def opened(name: str) -> Engine:
        return Engine.open(settings=Settings(home=str(tmp_path / name), store=postgres_url))

    return opened


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.files/*") if path.is_file()]


def _size(postgres_url: str) -> int:
    """How many bytes of files there are at the server."""
    with psycopg.connect(postgres_url, autocommit=True) as db:
        row = db.execute("SELECT pg_relation_size('everloop.files_1')").fetchone()
    return row[0] if row else -1


def _wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not what() and time.monotonic() < end:
        time.sleep(0.02)
    assert what()


def test_a_file_stored_on_one_node_is_available_on_another(machine: Open) -> None:
    with machine("laptop") as laptop, machine("desk") as desk:
        _, picture = show_picture(laptop)
        assert desk.files.has(picture.digest)
        assert desk.files.read(picture) == PICTURE
        with pytest.raises(NotFound):
            desk.files.path("0" * 64)


def test_a_purge_erases_files_on_the_server_and_on_every_node(
    machine: Open, postgres_url: str, tmp_path: Path
) -> None:
    with machine("laptop") as laptop, machine("desk") as desk:
        position, picture = show_picture(laptop)
        with machine("shed") as shed:
            shed.files.path(picture.digest)
        desk.files.path(picture.digest)
        assert len(_files(tmp_path)) == 3
        laptop.purge([position], reason="a slip", actor="user")
        _wait_for(lambda: not _files(tmp_path / "desk"))
        assert not desk.files.has(picture.digest)
        with machine("shed"):  # which was off meanwhile
            assert _files(tmp_path) == []
    assert _size(postgres_url) == 0


def test_a_file_waiting_for_its_message_survives_the_purge_of_another(machine: Open) -> None:
    with machine("laptop") as laptop, machine("desk") as desk:
        waiting = desk.files.store("dog.png", "image/png", [PICTURE + b" and a dog"])
        position, picture = show_picture(laptop)
        place = desk.files.path(picture.digest)
        laptop.purge([position], reason="a slip", actor="user")
        _wait_for(lambda: not place.exists())
        assert desk.files.read(waiting)


def test_moving_to_a_server_copies_the_files(machine: Open, tmp_path: Path) -> None:
    with Engine.open(tmp_path / "home", settings=PLAIN) as alone:
        _, picture = show_picture(alone)
        with machine("laptop") as laptop:
            move_log(alone.log, laptop.log)
            assert laptop.files.copy_from(picture.digest, alone.files)
    with machine("desk") as desk:
        assert desk.files.read(picture) == PICTURE


def test_a_file_still_visible_to_a_database_session_is_erased_later(
    machine: Open, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrub, "TRIES", 3)
    with machine("laptop") as laptop, psycopg.connect(postgres_url) as looking:
        position, _ = show_picture(laptop)
        looking.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        looking.execute("SELECT count(*) FROM everloop.files_1")
        with pytest.raises(Unavailable, match="still sees"):
            laptop.purge([position], reason="a slip", actor="user")
        looking.rollback()
        laptop.log.scrub()
    assert _size(postgres_url) == 0


def test_a_purge_also_erases_leftovers_of_an_earlier_one(machine: Open, postgres_url: str) -> None:
    with machine("laptop") as laptop:
        left = laptop.files.store("left.png", "image/png", [b"of nobody"])
        young = laptop.files.store("young.png", "image/png", [b"not yet sent"])
        with psycopg.connect(postgres_url) as db:
            old = "UPDATE everloop.files_1 SET taken_at = now() - interval '1 day'"
            db.execute(f"{old} WHERE digest = %s", (left.digest,))
        position, _ = show_picture(laptop)
        laptop.purge([position], reason="a slip", actor="user")
    with machine("desk") as desk:
        assert (desk.files.read(left), desk.files.read(young)) == (None, b"not yet sent")


def test_a_purge_erases_the_file_on_the_node_that_stored_it(machine: Open, tmp_path: Path) -> None:
    with machine("laptop") as laptop, machine("desk") as desk:
        position, _ = show_picture(desk)
        _wait_for(lambda: laptop.log.head >= position)
        laptop.purge([position], reason="a slip", actor="user")
        _wait_for(lambda: not _files(tmp_path))


def test_a_failed_purge_erases_the_files_when_repeated(postgres_url: str, tmp_path: Path) -> None:
    limits = Limits(lock_wait_s=0.2)
    settings = Settings(home=str(tmp_path), store=postgres_url, log=limits)
    with Engine.open(settings=settings) as engine, psycopg.connect(postgres_url) as busy:
        position, picture = show_picture(engine)
        busy.execute("LOCK TABLE everloop.files_1")
        with pytest.raises(Unavailable):
            engine.purge([position], reason="a slip", actor="user")
        busy.rollback()
        engine.purge([position], reason="a slip", actor="user")
        assert not engine.files.has(picture.digest)


def test_a_file_stored_again_survives_the_purge_of_another_message(
    machine: Open, postgres_url: str
) -> None:
    with machine("laptop") as laptop, machine("desk") as desk:
        draft = desk.files.store("dog.png", "image/png", [b"a dog"])
        with psycopg.connect(postgres_url) as db:
            db.execute("UPDATE everloop.files_1 SET taken_at = now() - interval '1 day'")
        desk.files.store("dog.png", "image/png", [b"a dog"])
        position, _ = show_picture(laptop)
        laptop.purge([position], reason="a slip", actor="user")
        assert laptop.files.read(draft) == b"a dog"


def test_a_file_that_cannot_be_erased_does_not_block_later_purges(machine: Open) -> None:
    with machine("laptop") as laptop, machine("desk") as desk:
        position, picture = show_picture(laptop)
        stuck = desk.files.path(picture.digest)
        stuck.unlink()
        stuck.mkdir()  # as somebody's own program may
        os.utime(stuck, (0, 0))
        laptop.purge([position], reason="a slip", actor="user")
        after, _ = show_picture(laptop, "Another.")
        _wait_for(lambda: desk.log.head >= after)
        assert not desk.log.problems
