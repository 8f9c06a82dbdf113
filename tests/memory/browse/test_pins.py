"""Pivotal items are pinned automatically up to a cap; manual pins are never displaced."""

from collections.abc import Generator
from pathlib import Path

import pytest

from everloop.app import Engine
from everloop.memory.browse.queries import page_by_time
from everloop.memory.model.commands import (
    PinItem,
    RateItem,
    RememberItem,
    RetireItem,
    ReviseItem,
    UnpinItem,
)
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import Filter, load_viewer
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings

SETTINGS = Settings(memory=MemorySettings(embedder="none", pins_max=3))


@pytest.fixture
def engine(tmp_path: Path) -> Generator[Engine]:
    with Engine.open(tmp_path, settings=SETTINGS) as engine:
        yield engine


def pivotal(engine: Engine, *item_ids: str, scope: str = "user", witness: str = "") -> int:
    """Store pivotal items; returns the position of the last fact."""
    for item_id in item_ids:
        witnesses = (witness,) if witness else ()
        words = f"{item_id} is about {item_id}."
        engine.do(RememberItem(item_id, words, scope=scope, witnesses=witnesses))
        engine.do(RateItem(item_id, 3))
    return engine.log.head


def pinned(engine: Engine, scope: str = "user") -> set[str]:
    with engine.reading() as reader:
        found, _ = page_by_time(
            reader, load_viewer(reader, OWNER), Filter(scopes=(scope,)), pinned=True
        )
    return {item.item_id for item in found}


def test_beyond_the_cap_the_oldest_automatic_pin_is_displaced(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c")
    assert pinned(engine) == {"a", "b", "c"}
    pivotal(engine, "d")
    assert pinned(engine) == {"b", "c", "d"}
    assert engine.memory.find(OWNER, "a").significance == 3, "it matters as it did"


def test_a_manual_pin_counts_and_is_never_displaced(engine: Engine) -> None:
    pivotal(engine, "a", "b")
    engine.do(PinItem("a"))
    pivotal(engine, "c", "d", "e")
    assert pinned(engine) == {"a", "d", "e"}


def test_an_automatic_pin_may_exceed_a_cap_that_is_filled_by_hand(engine: Engine) -> None:
    for item_id in ("a", "b", "c", "d"):
        engine.do(RememberItem(item_id, f"{item_id} is about {item_id}."))
        engine.do(PinItem(item_id))
    pivotal(engine, "e")
    assert pinned(engine) == {"a", "b", "c", "d", "e"}


def test_the_cap_applies_to_each_audience_separately(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c")
    pivotal(engine, "d", scope="project:garden")
    pivotal(engine, "e", witness="agent:x")
    assert pinned(engine) == {"a", "b", "c", "e"}
    assert pinned(engine, "project:garden") == {"d"}


def test_retracting_the_newer_rating_restores_the_pin(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c")
    rating = pivotal(engine, "d") - 1  # what gave way is said right after it
    engine.log.retract([rating], reason="a slip", actor=OWNER)
    assert pinned(engine) == {"a", "b", "c"}


def test_a_displaced_pin_stays_displaced_after_a_revision(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c", "d")
    engine.do(ReviseItem("a", text="a is about something else."))
    assert pinned(engine) == {"b", "c", "d"}


def test_a_displaced_item_can_be_pinned_by_hand(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c", "d")
    engine.do(PinItem("a"))
    assert pinned(engine) == {"a", "b", "c", "d"}


def test_a_displaced_item_is_pinned_when_it_is_rated_pivotal_again(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c", "d")
    assert pinned(engine) == {"b", "c", "d"}
    engine.do(RateItem("a", 1))
    assert pinned(engine) == {"b", "c", "d"}
    again = engine.do(RateItem("a", 3)).facts[0].position
    assert pinned(engine) == {"a", "c", "d"}, "the oldest gives way to it in turn"
    assert [engine.memory.find(OWNER, item).pinned for item in "abcd"] == [True, False, True, True]
    engine.log.retract([again], reason="a slip", actor=OWNER)
    assert pinned(engine) == {"b", "c", "d"}


def test_a_displaced_item_that_was_unpinned_by_hand_stays_unpinned(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c", "d")
    engine.do(UnpinItem("a"))
    engine.do(RateItem("a", 1))
    engine.do(RateItem("a", 3))
    assert pinned(engine) == {"b", "c", "d"}
    assert not engine.memory.find(OWNER, "a").pinned


def test_search_boosts_pinned_items_and_not_displaced_ones(engine: Engine) -> None:
    def favoured() -> set[str]:
        asked = SearchQuery("about", limit=10, mode="text")
        hits = engine.memory.recall(OWNER, asked).hits
        return {hit.item.item_id for hit in hits if dict(hit.why.boosts).get("pinned")}

    pivotal(engine, "a", "b", "c", "d")
    assert favoured() == {"b", "c", "d"}
    engine.do(RateItem("a", 1))
    engine.do(RateItem("a", 3))
    assert favoured() == pinned(engine) == {"a", "c", "d"}
    engine.do(UnpinItem("a"))
    assert favoured() == pinned(engine) == {"c", "d"}


def test_unpinning_twice_records_one_fact(engine: Engine) -> None:
    pivotal(engine, "a")
    assert engine.do(UnpinItem("a")).facts
    assert not engine.do(UnpinItem("a")).facts
    engine.do(PinItem("a"))
    assert engine.do(UnpinItem("a")).facts


def test_retired_items_and_declined_pins_do_not_count_towards_the_cap(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c")
    engine.do(RetireItem("c", "done"))
    pivotal(engine, "d")
    assert pinned(engine) == {"a", "b", "d"}
    engine.do(RememberItem("e", "e is about e."))
    engine.do(UnpinItem("e"))
    engine.do(RateItem("e", 3))
    assert pinned(engine) == {"a", "b", "d"}
