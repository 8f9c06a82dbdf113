"""Each log has its own vectors, and a purge by any process deletes them."""

from pathlib import Path

import apsw
import pytest
from tests.memory.test_ghosts import Diary

from everloop.adapters.embedders import choose
from everloop.app import Engine
from everloop.log import Context
from everloop.memory.index.snapshot import IndexSnapshot, SnapshotHeader
from everloop.memory.index.vector_index import VectorIndex
from everloop.memory.index.vector_store import ROOM, VectorCache
from everloop.memory.model.commands import RememberItem
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.settings import MemorySettings
from everloop.memory.text.passages import PASSAGES_MAX
from everloop.testing.embedder import WordEmbedder

EMPTY = SnapshotHeader(1, "ab", None, "model", (1, 1))


def word_embedder(settings: MemorySettings) -> WordEmbedder:
    """An embedder for any settings."""
    del settings
    return WordEmbedder()


def is_stored(diary: Diary, position: int) -> bool:
    """Whether the vector of the item at a position is stored."""
    db = apsw.Connection(str(diary.log.file.path.with_name("vectors.db")))
    there = {place % ROOM for (place,) in db.execute("SELECT place FROM placed")}
    db.close()
    return position * PASSAGES_MAX in there


@pytest.mark.parametrize("search", [True, False])
def test_a_purge_by_another_node_deletes_vectors_here_on_next_use(
    tmp_path: Path, search: bool
) -> None:
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    secret = diary.say("secret", "The code of the safe is four eight two.")
    diary.keeper.embed_missing()
    assert is_stored(diary, secret)
    diary.log.purge([secret], reason="asked", actor="user")  # as it is heard of from a server
    assert is_stored(diary, secret)
    if search:
        assert diary.keeper.recall("user", SearchQuery("garden")).hits
    else:
        diary.keeper.embed_missing()
    assert not is_stored(diary, secret)
    assert is_stored(diary, 1)
    diary.log.close()


def test_the_next_process_finishes_an_interrupted_purge(
    tmp_path: Path,
) -> None:
    diary = Diary(tmp_path / "diary")
    secret = diary.say("secret", "The code of the safe is four eight two.")
    diary.keeper.embed_missing()
    assert is_stored(diary, secret)
    diary.log.purge([secret], reason="asked", actor="user")
    cache = VectorCache(diary.log.file.path.with_name("vectors.db"))
    with diary.log.reading() as reader:
        assert VectorIndex(cache, WordEmbedder()).missing_vectors(reader) == {}
    assert not is_stored(diary, secret)
    done = cache.last_purge()
    assert done is not None
    cache.snapshot.save(EMPTY, {})
    with diary.log.reading() as reader:
        VectorIndex(cache, WordEmbedder()).missing_vectors(reader)
    assert cache.snapshot.header() == EMPTY, "what was carried out once is not again"
    cache.close()
    diary.log.close()


def test_a_purge_deletes_an_unfinished_snapshot(tmp_path: Path) -> None:
    begun = tmp_path / "vectors.arrays.new"
    begun.write_bytes(b"as far as it came before it was killed")
    IndexSnapshot(tmp_path / "vectors.arrays").delete()
    assert not begun.exists()


def test_logs_in_one_folder_have_separate_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "chosen_embedder", word_embedder)
    for name in ("one", "two"):
        with Engine.open(tmp_path / f"{name}.db") as engine:
            engine.do(RememberItem("a", f"The garden of {name}."), by=Context())
            assert engine.memory.embed_missing() == 1
    for name in ("one", "two"):
        with Engine.open(tmp_path / f"{name}.db") as engine:
            assert engine.memory.embed_missing() == 0
