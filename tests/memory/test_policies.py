"""What memory does in the background."""

import time
from pathlib import Path

from tests.memory.test_ghosts import Diary
from tests.memory.test_recall import Failing

from everloop.memory.answers import Asked
from everloop.memory.policies import Embedding

PATIENCE_S = 30


def test_items_get_their_vectors_in_the_background_now_and_as_they_come(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    embedding = Embedding(diary.keeper)
    embedding.start()
    assert embedding.idle.wait(PATIENCE_S)
    assert diary.keeper.recall("user", Asked("bees")).notes == ()
    diary.say("later", "A fox came to the fence.")
    deadline = time.monotonic() + PATIENCE_S
    while diary.keeper.recall("user", Asked("fox")).notes and time.monotonic() < deadline:
        embedding.idle.wait(0.1)
    assert diary.keeper.recall("user", Asked("fox")).notes == ()
    embedding.stop()
    diary.log.close()


def test_a_failing_embedder_is_noted_and_does_not_end_the_background(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    space = diary.keeper.memory.space
    assert space is not None
    space.embedder = Failing()
    embedding = Embedding(diary.keeper)
    embedding.start()
    embedding.stop()
    assert embedding.problem is not None
    diary.log.close()
