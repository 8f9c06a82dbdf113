"""Slow or failing embedders: search does not wait for vectors, and no vector made is lost."""

from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.memory.test_ghosts import Diary

from everloop.errors import ModelFailed, Unavailable
from everloop.memory.index.vector_index import BATCH_CHARACTERS
from everloop.memory.index.vector_store import ROOM
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.text.passages import PASSAGES_MAX, split_passages
from everloop.testing.embedder import WordEmbedder

WORDS = 6_000


class HookedEmbedder(WordEmbedder):
    """An embedder that is slow or fails."""

    name = "slow"

    def __init__(self, each: Callable[[], None]) -> None:
        self._each = each
        self.asked: list[int] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Call the hook, then make vectors."""
        self._each()
        self.asked.append(sum(map(len, texts)))
        return super().embed(texts)


@pytest.fixture
def diary(tmp_path: Path) -> Generator[Diary]:
    """A diary with a very long item, and a short one."""
    diary = Diary(tmp_path / "diary")
    diary.say("long", "\n\n".join(f"word{n} " * 30 for n in range(WORDS // 30)))
    diary.say("short", "The windmill is in Kestrelford.")
    yield diary
    diary.log.close()


def use_hooked_embedder(diary: Diary, each: Callable[[], None]) -> HookedEmbedder:
    """Give the diary an embedder that calls a hook before each batch."""
    space = diary.keeper.memory.vector_index
    assert space is not None
    space.embedder = made = HookedEmbedder(each)
    return made


def test_brief_embedding_makes_some_vectors_and_the_next_call_more(diary: Diary) -> None:
    use_hooked_embedder(diary, lambda: diary.stage.clock.tick(seconds=4))
    total = len(split_passages(diary.keeper.find("user", "long").text)) + 1
    made = [diary.keeper.embed_briefly()]
    assert 0 < made[0] < total
    answer = diary.keeper.recall("user", SearchQuery("where is the windmill"))
    assert answer.hits[0].item.item_id == "short"
    assert "still being embedded" in answer.notes[0]
    while made[-1]:
        made.append(diary.keeper.embed_briefly())
    assert sum(made) == total
    assert diary.keeper.recall("user", SearchQuery("windmill")).notes == ()


def test_brief_embedding_hides_a_failure_that_full_embedding_reports(diary: Diary) -> None:
    def fail() -> None:
        raise Unavailable("the disk is full")

    use_hooked_embedder(diary, fail)
    assert diary.keeper.embed_briefly() == 0
    with pytest.raises(Unavailable):
        diary.keeper.embed_missing()


def test_vectors_made_before_an_interruption_are_stored(diary: Diary) -> None:
    calls = iter(range(100))

    def interrupt_the_third_call() -> None:
        if next(calls) == 2:
            raise KeyboardInterrupt

    use_hooked_embedder(diary, interrupt_the_third_call)
    with pytest.raises(KeyboardInterrupt):
        diary.keeper.embed_missing()
    again = use_hooked_embedder(diary, lambda: None)
    first = diary.keeper.embed_missing()
    assert 0 < first < len(split_passages(diary.keeper.find("user", "long").text)) + 1
    assert max(again.asked) <= BATCH_CHARACTERS


class RefusingEmbedder(WordEmbedder):
    """An embedder that refuses every batch with a certain text."""

    name = "picky"

    def __init__(self, refused: str) -> None:
        self._refused = refused
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Make vectors, unless one of the texts is refused."""
        self.calls += 1
        if any(self._refused in text for text in texts):
            raise ModelFailed("the embedding endpoint answered 500")
        return super().embed(texts)


def test_a_refused_text_does_not_cost_the_others_their_vectors(diary: Diary) -> None:
    for number in range(20):
        diary.say(f"box-{number}", f"The box {number} is in the attic.")
    space = diary.keeper.memory.vector_index
    assert space is not None
    space.embedder = RefusingEmbedder("The windmill")
    with pytest.raises(ModelFailed):
        diary.keeper.embed_missing()
    with diary.log.reading() as reader:
        assert len(space.missing_vectors(reader)) == 1
    space.embedder = WordEmbedder()
    space.embedder.name = RefusingEmbedder.name
    assert diary.keeper.embed_missing() == 1


def test_an_unreachable_embedder_is_not_called_for_every_text(diary: Diary) -> None:
    for number in range(100):
        diary.say(f"box-{number}", f"The box {number} is in the attic.")
    space = diary.keeper.memory.vector_index
    assert space is not None
    space.embedder = away = RefusingEmbedder("")
    with pytest.raises(ModelFailed):
        diary.keeper.embed_missing()
    assert away.calls < 12


def test_without_vectors_semantic_search_falls_back_to_keywords_and_says_so(
    diary: Diary,
) -> None:
    diary.keeper.memory.vector_index = None
    answer = diary.keeper.recall("user", SearchQuery("windmill", mode="semantic"))
    assert [hit.item.item_id for hit in answer.hits] == ["short"]
    assert answer.notes == ("No embedder is at hand, so only words were searched.",)


def test_while_vectors_are_missing_semantic_search_also_uses_keywords(diary: Diary) -> None:
    answer = diary.keeper.recall("user", SearchQuery("windmill", mode="semantic"))
    assert [hit.item.item_id for hit in answer.hits] == ["short"]
    assert "only keyword search finds them" in answer.notes[0]


def test_an_item_purged_while_it_is_embedded_leaves_no_vector(diary: Diary, tmp_path: Path) -> None:
    secret = diary.say("secret", "The code is 4711.")
    once = iter([secret])

    def purge() -> None:
        for position in once:
            diary.log.purge([position], reason="private", actor="user")

    use_hooked_embedder(diary, purge)
    diary.keeper.embed_missing()
    db = apsw.Connection(str(tmp_path / "diary" / "vectors.db"))
    kept = {place % ROOM for (place,) in db.execute("SELECT place FROM placed")}
    assert kept
    assert secret * PASSAGES_MAX not in kept
    db.close()
