"""Files beside messages on a disk that does not do what it should."""

import os
from pathlib import Path

import pytest
from tests.thread.fixtures import PLAIN, show_picture

from everloop.app import USER, Engine
from everloop.errors import Unavailable
from everloop.thread.model.commands import HOME
from everloop.thread.model.events import Attachment
from everloop.thread.service import OutgoingMessage, ThreadService


@pytest.mark.parametrize("name", ["@eaDir", "0" * 64])
def test_a_foreign_folder_does_not_block_a_purge(tmp_path: Path, name: str) -> None:
    with Engine.open(tmp_path, settings=PLAIN) as engine:
        position, picture = show_picture(engine)
        other = engine.files.folder / name
        other.mkdir()
        os.utime(other, (0, 0))
        engine.purge([position], reason="a slip", actor="user")
        assert not engine.files.has(picture.digest)
        assert other.is_dir()


def test_a_purge_says_which_file_was_not_erased_and_erases_the_others(tmp_path: Path) -> None:
    with Engine.open(tmp_path, settings=PLAIN) as engine:
        left = engine.files.store("left.png", "image/png", [b"of nobody"])
        os.utime(engine.files.path(left.digest), (0, 0))
        position, picture = show_picture(engine)
        stuck = engine.files.path(picture.digest)
        stuck.unlink()
        stuck.mkdir()
        with pytest.raises(Unavailable, match=picture.digest):
            engine.purge([position], reason="a slip", actor="user")
        assert engine.log.record(position).data is None
        assert not engine.files.has(left.digest)


def test_a_message_with_an_invalid_file_digest_can_be_sent_and_purged(tmp_path: Path) -> None:
    with Engine.open(tmp_path, settings=PLAIN) as engine:
        talk = ThreadService(engine.log, engine, engine.memory)
        talk.home_thread(USER)
        odd = Attachment("../everloop.db", "x.png", "image/png", 1)
        sent = talk.send(HOME, OutgoingMessage("Look.", (odd,)), USER)
        assert not engine.files.has(odd.digest)
        engine.purge([sent.position - 1], reason="a slip", actor="user")
        assert engine.log.record(sent.position - 1).data is None
        assert engine.log.file.path.exists()
