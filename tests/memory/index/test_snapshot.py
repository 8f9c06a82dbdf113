"""A process may begin with what the last one kept, and answers no differently for it."""

from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
from tests.memory.test_ghosts import Diary

from everloop.memory.index.passage_index import SAVED_ROWS_MIN
from everloop.memory.index.snapshot import Header, Snapshot
from everloop.memory.index.vector_index import VectorSpace
from everloop.memory.index.vector_store import VectorCache
from everloop.memory.model.events import Origin, Remembered
from everloop.memory.retrieval.results import Asked
from everloop.memory.service import Keeper
from everloop.testing.embedder import WordEmbedder

WORDS = ("garden", "oak", "rose", "bee", "straw", "winter", "house", "fence", "apple", "path")
HEADER = Header(3, "ab", None, "model", (1, 1))
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


def told(keeper: Keeper) -> list[object]:
    """Answers with all their reasons."""
    return [keeper.recall("user", Asked(text, limit=20)) for text in QUESTIONS]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Generator[Diary]:
    """A diary large enough to be worth a snapshot, and with one."""
    diary = Diary(tmp_path_factory.mktemp("filled") / "diary")
    for start in range(0, SAVED_ROWS_MIN, 1_000):
        diary.log.append(
            "memory:many", [item(n) for n in range(start, start + 1_000)], actor="user"
        )
    diary.keeper.embed_missing()
    yield diary
    diary.log.close()


def file_of(diary: Diary) -> Path:
    return diary.log.file.path.with_name("vectors.arrays")


def begun_anew(diary: Diary) -> Keeper:
    """The same memory as another process finds it."""
    space = VectorSpace(VectorCache(diary.log.file.path.with_name("vectors.db")), WordEmbedder())
    do, do_many = diary.engine.do, diary.engine.do_many
    return Keeper(diary.log, do, do_many, diary.stage.clock, diary.stage.ids, space)


def test_a_restored_snapshot_gives_the_same_results_as_a_fresh_index(filled: Diary) -> None:
    assert file_of(filled).exists()
    restored = told(begun_anew(filled))
    kept = file_of(filled).read_bytes()
    file_of(filled).unlink()
    assert restored == told(begun_anew(filled)) == told(filled.keeper)
    file_of(filled).write_bytes(kept)


def test_items_recorded_after_the_snapshot_are_found(filled: Diary) -> None:
    filled.say("later", "Anna: a xylophone in the garden")
    filled.keeper.embed_missing()
    hits = begun_anew(filled).recall("user", Asked("xylophone")).hits
    assert [hit.item.item_id for hit in hits][:1] == ["later"]


def test_a_damaged_snapshot_is_deleted(filled: Diary) -> None:
    before, whole = told(filled.keeper), file_of(filled).read_bytes()
    for damaged in (whole[:-7], whole[:900] + b"?" + whole[901:], b"", b"not at all", whole[:200]):
        file_of(filled).write_bytes(damaged)
        assert told(begun_anew(filled)) == before
        assert not file_of(filled).exists()
    file_of(filled).write_bytes(whole)


def test_a_snapshot_of_another_log_is_deleted(filled: Diary, tmp_path: Path) -> None:
    other = Diary(tmp_path / "other")
    other.say_all()
    file_of(other).write_bytes(file_of(filled).read_bytes())
    assert other.keeper.recall("user", Asked("garden")).hits
    assert not file_of(other).exists()
    other.log.close()


def test_purged_texts_leave_no_snapshot(filled: Diary) -> None:
    filled.keeper.memory.space.cache.forget([1])  # type: ignore[union-attr]
    assert not file_of(filled).exists()


def test_a_snapshot_with_another_header_is_not_loaded(tmp_path: Path) -> None:
    snapshot = Snapshot(tmp_path / "some.arrays")
    assert snapshot.header() is None
    snapshot.save(HEADER, {"a": np.arange(5), "b": np.ones((2, 3), np.float32)})
    assert snapshot.header() == HEADER
    found = snapshot.load(HEADER)
    assert found is not None
    assert found["a"].tolist() == [0, 1, 2, 3, 4]
    assert found["b"].shape == (2, 3)
    assert snapshot.load(Header(4, "ab", None, "model", (1, 1))) is None


def test_a_snapshot_with_any_changed_byte_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / "a.arrays"
    snapshot = Snapshot(path)
    snapshot.save(HEADER, {"numbers": np.arange(20)})
    whole = path.read_bytes()
    for at in range(0, len(whole) - 20 * 8, 2):  # all that says what the numbers are
        for other in b"\0(9":
            path.write_bytes(whole[:at] + bytes([other]) + whole[at + 1 :])
            found = snapshot.load(HEADER)
            assert found is None or found["numbers"].tolist() == list(range(20))
            assert snapshot.header() in {None, HEADER} or found is None
