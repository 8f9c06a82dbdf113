"""Search returns as many hits as requested if there are as many, in every mode and filter."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.memory.test_ghosts import Diary

from everloop.memory.model.commands import RememberItem
from everloop.memory.projections.queries import Filter
from everloop.memory.retrieval.results import SearchMode, SearchQuery

LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)
FILTERS = (
    Filter(),
    Filter(scopes=("project:roof",)),
    Filter(kinds=("note",)),
    Filter(since=LONG_AGO + timedelta(days=4)),
    Filter(before=LONG_AGO + timedelta(days=2)),
)


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    """Twelve old items, of two scopes and two kinds."""
    made = Diary(tmp_path / "diary")
    for number in range(12):
        made.engine.do(
            RememberItem(
                f"item-{number}",
                f"Slate {number} weighs thirty kilos of {'abcdefghijkl'[number]}wood",
                kind="note" if number % 3 else "fact",
                scope="project:roof" if number % 2 else "user",
                happened_at=(LONG_AGO + timedelta(days=number)).isoformat(),
            )
        )
    made.keeper.embed_missing()
    return made


@pytest.mark.promise("P-MEM-3")
@pytest.mark.parametrize("only", FILTERS)
@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_every_visible_item_is_returned_even_if_no_word_matches(
    diary: Diary, mode: SearchMode, only: Filter
) -> None:
    there = {
        hit.item.item_id
        for hit in diary.keeper.recall(
            "user", SearchQuery("slate", limit=50, mode="text", only=only)
        ).hits
    }
    found = diary.keeper.recall(
        "user", SearchQuery("craftsman", limit=50, mode=mode, only=only, weak=True)
    ).hits
    assert {hit.item.item_id for hit in found} == there
    for limit in range(1, len(there) + 1):
        asked = SearchQuery("craftsman", limit=limit, mode=mode, only=only, weak=True)
        assert len(diary.keeper.recall("user", asked).hits) == limit
    diary.log.close()
