"""What memory does in the background."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.memory.retrieval.test_search import FailingEmbedder
from tests.memory.test_ghosts import Diary

from everloop.errors import ModelFailed
from everloop.memory.background import EmbeddingTask
from everloop.memory.index.vector_index import BATCH
from everloop.memory.retrieval.results import SearchQuery
from everloop.ports import Embedder
from everloop.testing.embedder import WordEmbedder

PATIENCE_S = 30


def test_items_get_their_vectors_in_the_background_now_and_as_they_come(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    embedding = EmbeddingTask(diary.keeper)
    embedding.start()
    assert embedding.idle.wait(PATIENCE_S)
    assert diary.keeper.recall("user", SearchQuery("bees")).notes == ()
    diary.say("later", "A fox came to the fence.")
    deadline = time.monotonic() + PATIENCE_S
    while diary.keeper.recall("user", SearchQuery("fox")).notes and time.monotonic() < deadline:
        embedding.idle.wait(0.1)
    assert diary.keeper.recall("user", SearchQuery("fox")).notes == ()
    embedding.stop()
    diary.log.close()


def test_a_failing_embedder_is_noted_and_does_not_end_the_background(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    set_embedder(diary, FailingEmbedder())
    embedding = EmbeddingTask(diary.keeper)
    embedding.start()
    embedding.stop()
    assert embedding.problem is not None
    diary.log.close()


class Recovering(WordEmbedder):
    """An embedder that fails so often."""

    name = "recovering"

    def __init__(self, problem: Exception, times: int = 2) -> None:
        self.problem, self.left = problem, times

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Make vectors, in the end."""
        self.left -= 1
        if self.left >= 0:
            raise self.problem
        return super().embed(texts)


@pytest.mark.parametrize("problem", [ModelFailed("it answered 429"), ValueError("no such thing")])
def test_an_embedder_that_failed_for_a_while_is_asked_again_though_nothing_new_came(
    tmp_path: Path, problem: Exception
) -> None:
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    set_embedder(diary, Recovering(problem))
    embedding = EmbeddingTask(diary.keeper, retry_s=0.01)
    embedding.start()
    assert embedding.idle.wait(PATIENCE_S)
    assert embedding.problem is None
    assert diary.keeper.recall("user", SearchQuery("bees")).notes == ()
    embedding.stop()
    diary.log.close()


def test_what_comes_while_an_embedder_is_left_alone_has_it_tried_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("everloop.memory.background.RETRY_MAX_S", 10 * PATIENCE_S)
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    recovering = Recovering(ModelFailed("it answered 429"), 15)  # by then it waits for minutes
    set_embedder(diary, recovering)
    embedding = EmbeddingTask(diary.keeper, retry_s=0.01)
    embedding.start()
    for number in range(400):
        diary.say(f"more-{number}", f"Thing number {number} of many.")
        if embedding.idle.wait(0.05):
            break
    assert embedding.idle.wait(PATIENCE_S)
    embedding.stop()
    diary.log.close()


class Held(WordEmbedder):
    """An embedder that says when it was asked, and goes on when it is told to."""

    name = "held"

    def __init__(self) -> None:
        self.asked, self.go = threading.Semaphore(0), threading.Semaphore(0)
        self.times = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Make vectors, when it may."""
        self.times += 1
        self.asked.release()
        self.go.acquire(timeout=PATIENCE_S)
        return super().embed(texts)


class Named(WordEmbedder):
    """The same, that waits for nobody."""

    name = Held.name


def set_embedder(diary: Diary, embedder: Embedder) -> None:
    """Let another one make the vectors from now on."""
    space = diary.keeper.memory.vector_index
    assert space is not None
    space.embedder = embedder


def filled(tmp_path: Path, *, batches: int) -> tuple[Diary, Held]:
    """A diary with so many batches of things that lack vectors, and who will make them."""
    diary, held = Diary(tmp_path / "diary"), Held()
    for number in range(batches * BATCH):
        diary.say(f"many-{number}", f"Thing number {number} of many.")
    set_embedder(diary, held)
    return diary, held


def test_how_far_it_is_can_be_seen_while_it_goes_on(tmp_path: Path) -> None:
    diary, held = filled(tmp_path, batches=3)
    embedding = EmbeddingTask(diary.keeper)
    embedding.start()
    for done in (0, BATCH, 2 * BATCH):
        assert held.asked.acquire(timeout=PATIENCE_S)
        assert embedding.progress == (done, 3 * BATCH)
        held.go.release()
    assert embedding.idle.wait(PATIENCE_S)
    assert embedding.progress == (0, 0)
    embedding.stop()
    diary.log.close()


def test_it_stops_after_the_batch_at_hand_and_keeps_that(tmp_path: Path) -> None:
    diary, held = filled(tmp_path, batches=5)
    embedding = EmbeddingTask(diary.keeper)
    embedding.start()
    assert held.asked.acquire(timeout=PATIENCE_S)
    stopping = threading.Thread(target=embedding.stop)
    stopping.start()
    while stopping.is_alive():
        held.go.release()
        stopping.join(0.01)
    assert held.times < 5
    set_embedder(diary, Named())
    assert diary.keeper.embed_missing() == (5 - held.times) * BATCH
    diary.log.close()
