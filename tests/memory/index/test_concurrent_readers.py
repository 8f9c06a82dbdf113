"""Readers of older states share the in-memory index, and get the same results as alone."""

import threading
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.memory.test_ghosts import Diary

from everloop.log import Reader, Sight
from everloop.memory.model.commands import RetireItem, ReviseItem
from everloop.memory.model.scopes import OWNER, Viewer
from everloop.memory.retrieval.results import SearchHit, SearchQuery
from everloop.memory.retrieval.search import MemorySearch

NOW = datetime(2026, 5, 1, tzinfo=UTC)
USER = Viewer(OWNER, ("*",))
Hits = tuple[SearchHit, ...]

QUESTIONS = ("garden in winter", "old oak", "note garden 3")


@pytest.fixture
def diary(tmp_path: Path) -> Generator[Diary]:
    """A diary with a few items."""
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    diary.keeper.embed_missing()
    yield diary
    diary.log.close()


def answers(memory: MemorySearch, reader: Reader, sight: Sight) -> list[Hits]:
    """The hits of a reader. Notes are left out: missing vectors are reported to all readers."""
    asked = [SearchQuery(text, limit=20) for text in QUESTIONS]
    return [memory.recall(reader, sight, USER, each, NOW).hits for each in asked]


def answers_alone(diary: Diary, reader: Reader, sight: Sight) -> list[Hits]:
    """The hits of a reader from a search index that nobody else uses."""
    shared = diary.keeper.memory.vector_index
    assert shared is not None
    return answers(MemorySearch(type(shared)(shared.cache, shared.embedder)), reader, sight)


def change(diary: Diary, number: int) -> None:
    """Record changes that affect the passage table, visibility masks and posting lists."""
    diary.say(f"note-{number}", f"note garden {number}", f"item-{number % 4}")
    diary.engine.do(ReviseItem(f"item-{number % 4}", text=f"The old oak, told anew: {number}."))
    if number % 3 == 0:
        diary.engine.do(RetireItem(f"note-{number}", force=True))


def test_an_older_reader_sees_the_older_state_after_newer_readers_loaded_more(diary: Diary) -> None:
    memory = diary.keeper.memory
    with diary.log.reading() as older:
        before = answers(memory, older, sight := diary.log.sight(older))
        for number in range(6):
            change(diary, number)
            diary.keeper.embed_missing()
            with diary.log.reading() as newer:
                now = diary.log.sight(newer)
                assert answers(memory, newer, now) == answers_alone(diary, newer, now)
            assert answers(memory, older, sight) == before


def test_a_reader_between_two_loaded_states_shares_the_passage_table(
    diary: Diary,
) -> None:
    memory = diary.keeper.memory
    with diary.log.reading() as first:
        roster = memory.passage_index.table(first)[0]
    change(diary, 1)
    with diary.log.reading() as between:
        assert between.head()
        change(diary, 2)
        with diary.log.reading() as newest:
            assert memory.passage_index.table(newest)[0] is roster
        assert memory.passage_index.table(between)[0] is roster
        sight = diary.log.sight(between)
        assert answers(memory, between, sight) == answers_alone(diary, between, sight)


def test_concurrent_readers_get_the_same_results_as_alone(diary: Diary) -> None:
    memory, wrong, done = diary.keeper.memory, list[object](), threading.Event()

    def ask() -> None:
        while not done.is_set():
            with diary.log.reading() as reader:
                sight = diary.log.sight(reader)
                shared = answers(memory, reader, sight)
                if shared != answers_alone(diary, reader, sight):
                    wrong.append(shared)

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for each in askers:
        each.start()
    for number in range(25):
        change(diary, number)
    done.set()
    for each in askers:
        each.join()
    assert not wrong


def test_a_retracted_predecessor_does_not_influence_the_ranking(diary: Diary) -> None:
    said = [
        diary.say(f"said-{n}", f"note garden {n} oak {n * n}", f"said-{n - 1}") for n in range(40)
    ]
    diary.keeper.embed_missing()
    memory = diary.keeper.memory
    with diary.log.reading() as reader:
        answers(memory, reader, diary.log.sight(reader))
    diary.log.retract(said[::2], reason="test", actor="user")
    with diary.log.reading() as reader:
        sight = diary.log.sight(reader)
        assert answers(memory, reader, sight) == answers_alone(diary, reader, sight)
