"""Snapshots of the search index: a new process starts from one and gives the same results."""

from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
from tests.memory.test_ghosts import Diary

from everloop.memory.index.passage_index import SNAPSHOT_ROWS_MIN
from everloop.memory.index.snapshot import IndexSnapshot, SnapshotHeader
from everloop.memory.index.vector_index import VectorIndex
from everloop.memory.index.vector_store import VectorCache
from everloop.memory.model.events import Origin, Remembered
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.service import MemoryService
from everloop.testing.embedder import WordEmbedder

WORDS = ("garden", "oak", "rose", "bee", "straw", "winter", "house", "fence", "apple", "path")
HEADER = SnapshotHeader(3, "ab", None, "model", (1, 1))
QUESTIONS = ("oak in the garden", "apple fence 17", "what of the bees in winter?")


def item(number: int) -> Remembered:
    """An item of its own words, following the one before it."""
    text = f"Anna: {WORDS[number % 10]} {WORDS[number // 10 % 10]} {number}"
    return Remembered(
        item_id=f"item-{number}",
        title=text,
        text=text,
        kind="message",
        scope="user",
        witnesses=(),
        origin=Origin(),
        learned_via="told",
        durability="durable",
        happened_at="",
        follows=f"item-{number - 1}" if number % 7 else "",
        derived_from=(),
        session="",
    )


def results(keeper: MemoryService) -> list[object]:
    """Search results with all their explanations."""
    return [keeper.recall("user", SearchQuery(text, limit=20)) for text in QUESTIONS]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Generator[Diary]:
    """A diary large enough for a snapshot, with one."""
    diary = Diary(tmp_path_factory.mktemp("filled") / "diary")
    for start in range(0, SNAPSHOT_ROWS_MIN, 1_000):
        diary.log.append(
            "memory:many", [item(n) for n in range(start, start + 1_000)], actor="user"
        )
    diary.keeper.embed_missing()
    yield diary
    diary.log.close()


def snapshot_file(diary: Diary) -> Path:
    return diary.log.file.path.with_name("vectors.arrays")


def reopen(diary: Diary) -> MemoryService:
    """The same memory, opened like in another process."""
    space = VectorIndex(VectorCache(diary.log.file.path.with_name("vectors.db")), WordEmbedder())
    return MemoryService(diary.log, diary.engine, diary.stage.clock, diary.stage.ids, space)


def test_a_restored_snapshot_gives_the_same_results_as_a_fresh_index(filled: Diary) -> None:
    assert snapshot_file(filled).exists()
    restored = results(reopen(filled))
    kept = snapshot_file(filled).read_bytes()
    snapshot_file(filled).unlink()
    assert restored == results(reopen(filled)) == results(filled.keeper)
    snapshot_file(filled).write_bytes(kept)


def test_items_recorded_after_the_snapshot_are_found(filled: Diary) -> None:
    filled.say("later", "Anna: a xylophone in the garden")
    filled.keeper.embed_missing()
    hits = reopen(filled).recall("user", SearchQuery("xylophone")).hits
    assert [hit.item.item_id for hit in hits][:1] == ["later"]


def test_a_damaged_snapshot_is_deleted(filled: Diary) -> None:
    before, whole = results(filled.keeper), snapshot_file(filled).read_bytes()
    for damaged in (whole[:-7], whole[:900] + b"?" + whole[901:], b"", b"not at all", whole[:200]):
        snapshot_file(filled).write_bytes(damaged)
        assert results(reopen(filled)) == before
        assert not snapshot_file(filled).exists()
    snapshot_file(filled).write_bytes(whole)


def test_a_snapshot_of_another_log_is_deleted(filled: Diary, tmp_path: Path) -> None:
    other = Diary(tmp_path / "other")
    other.say_all()
    snapshot_file(other).write_bytes(snapshot_file(filled).read_bytes())
    assert other.keeper.recall("user", SearchQuery("garden")).hits
    assert not snapshot_file(other).exists()
    other.log.close()


def test_purged_texts_leave_no_snapshot(filled: Diary) -> None:
    filled.keeper.memory.vector_index.cache.purge([1])  # type: ignore[union-attr]
    assert not snapshot_file(filled).exists()


def test_a_snapshot_with_another_header_is_not_loaded(tmp_path: Path) -> None:
    snapshot = IndexSnapshot(tmp_path / "some.arrays")
    assert snapshot.header() is None
    snapshot.save(HEADER, {"a": np.arange(5), "b": np.ones((2, 3), np.float32)})
    assert snapshot.header() == HEADER
    found = snapshot.load(HEADER)
    assert found is not None
    assert found["a"].tolist() == [0, 1, 2, 3, 4]
    assert found["b"].shape == (2, 3)
    assert snapshot.load(SnapshotHeader(4, "ab", None, "model", (1, 1))) is None


def test_a_snapshot_with_any_changed_byte_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / "a.arrays"
    snapshot = IndexSnapshot(path)
    snapshot.save(HEADER, {"numbers": np.arange(20)})
    whole = path.read_bytes()
    for at in range(0, len(whole) - 20 * 8, 2):  # all that says what the numbers are
        for other in b"\0(9":
            path.write_bytes(whole[:at] + bytes([other]) + whole[at + 1 :])
            found = snapshot.load(HEADER)
            assert found is None or found["numbers"].tolist() == list(range(20))
            assert snapshot.header() in {None, HEADER} or found is None
