"""The full-text index is written in groups, which does not change any search result."""

from collections.abc import Generator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.memory.test_ghosts import Diary

from everloop.log import Reader
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.memory.model.scopes import OWNER, Viewer
from everloop.memory.projections.fts_index import (
    INDEX_GROUP_FACTS,
    PENDING_PASSAGES_SQL,
    PassageTable,
    closes_group,
    newest_indexed_passage,
    passages_with_phrase,
)
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.retrieval.search import MemorySearch
from everloop.memory.text.passages import PASSAGES_MAX

NOW = datetime(2026, 5, 1, tzinfo=UTC)
USER = Viewer(OWNER, ("*",))


def name(number: int) -> str:
    """A unique word for a number."""
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:04d}") + "zq"


@pytest.fixture
def diary(tmp_path: Path) -> Generator[Diary]:
    """A diary in which some passages are indexed and others pending."""
    diary = Diary(tmp_path / "diary")
    fill(diary, 0, 3 * INDEX_GROUP_FACTS)
    while not pending_positions(diary):
        fill(diary, diary.log.head, diary.log.head + 1)
    yield diary
    diary.log.close()


def fill(diary: Diary, first: int, last: int) -> None:
    """Store an item with a unique text for each number."""
    for number in range(first, last):
        diary.say(f"item-{number}", f"The {name(number)} stands by the {name(number + 1)} oak.")


def pending_positions(diary: Diary) -> list[int]:
    """The positions of pending passages."""
    with diary.log.reading() as reader:
        return [row[0] // PASSAGES_MAX for row in reader.rows(PENDING_PASSAGES_SQL)]


def found(memory: MemorySearch, diary: Diary, reader: Reader, text: str) -> set[str]:
    """The items found by keyword search."""
    asked = SearchQuery(text, limit=500, mode="text")
    hits = memory.recall(reader, diary.log.sight(reader), USER, asked, NOW).hits
    return {hit.item.item_id for hit in hits}


def all_terms(diary: Diary) -> list[tuple[Any, ...]]:
    """Every term at every place."""
    with diary.log.reading() as reader:
        return list(PassageTable().dump(reader.db))


def test_groups_close_for_any_pattern_of_positions() -> None:
    for step in (1, 2, 3, 7, 10, 64, 1_000):
        closing = [n for n in range(10_000) if closes_group(1 + n * step)]
        gaps = [later - earlier for earlier, later in pairwise(closing)]
        assert max(gaps) < 20 * INDEX_GROUP_FACTS
        assert len(closing) > 10_000 // INDEX_GROUP_FACTS // 4


def test_pending_and_indexed_passages_are_found_alike(diary: Diary) -> None:
    late = pending_positions(diary)
    assert 0 < len(late) < diary.log.head
    memory = MemorySearch()
    with diary.log.reading() as reader:
        for number in range(1, diary.log.head):
            both = {f"item-{number}", f"item-{number - 1}"}
            assert found(memory, diary, reader, name(number)) == both


def test_an_item_is_found_the_same_before_and_after_indexing(diary: Diary) -> None:
    memory, number = MemorySearch(), pending_positions(diary)[0] - 1
    before = found_now(memory, diary, name(number))
    while pending_positions(diary)[:1] == [number + 1]:
        fill(diary, diary.log.head, diary.log.head + 1)
    assert found_now(memory, diary, name(number)) == found_now(MemorySearch(), diary, name(number))
    assert before <= found_now(memory, diary, name(number))


def found_now(memory: MemorySearch, diary: Diary, text: str) -> set[str]:
    """The items found by keyword search in the current state."""
    with diary.log.reading() as reader:
        return found(memory, diary, reader, text)


def test_an_older_reader_finds_what_was_pending_when_it_began(diary: Diary) -> None:
    memory, late = MemorySearch(), pending_positions(diary)
    with diary.log.reading() as older:
        upto = newest_indexed_passage(older)
        fill(diary, diary.log.head, diary.log.head + 2 * INDEX_GROUP_FACTS)
        with diary.log.reading() as newer:
            assert newest_indexed_passage(newer) > late[-1] * PASSAGES_MAX > upto
            assert found(memory, diary, newer, name(1))  # the lists now begin with the newer state
        for position in late:
            assert f"item-{position - 1}" in found(memory, diary, older, name(position - 1))


def test_phrases_are_found_in_indexed_and_pending_passages(diary: Diary) -> None:
    with diary.log.reading() as reader:
        for position in (1, pending_positions(diary)[-1]):
            words = ("stand", "by", "the", name(position), "oak")
            assert passages_with_phrase(reader, words, 9) == [position * PASSAGES_MAX]
        assert passages_with_phrase(reader, ("oak", "stand"), 9) == []
        assert len(passages_with_phrase(reader, ("oak",), 9)) == 9


def test_a_purge_erases_indexed_and_pending_passages(diary: Diary) -> None:
    gone = [5, pending_positions(diary)[-1]]
    diary.log.purge(gone, reason="privacy", actor="user")
    (_, *passages), (_, *places) = all_terms(diary)
    assert not {row[1] for row in passages} & set(gone)
    assert not {doc // PASSAGES_MAX for _, doc, *_ in places} & set(gone)
    with diary.log.reading() as reader:
        held = {
            number // PASSAGES_MAX
            for number in passages_with_phrase(reader, ("oak",), 8 * INDEX_GROUP_FACTS)
        }
    assert len(held) == diary.log.head - 1 - len(gone)
    assert not held & set(gone)


def test_a_rebuilt_index_is_the_same_also_after_a_purge(diary: Diary) -> None:
    closing = next(n for n in range(INDEX_GROUP_FACTS, 10 * INDEX_GROUP_FACTS) if closes_group(n))
    diary.log.purge([closing], reason="privacy", actor="user")
    live = all_terms(diary)
    rebuild_projections(diary.log)
    assert all_terms(diary) == live
