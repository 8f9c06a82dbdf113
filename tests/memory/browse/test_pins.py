"""What is pivotal is pinned by itself, up to a soft cap; a pin set by hand never gives way."""

from collections.abc import Generator
from pathlib import Path

import pytest

from everloop.app import Engine
from everloop.memory.browse.queries import page
from everloop.memory.model.commands import (
    PinItem,
    RateItem,
    RememberItem,
    RetireItem,
    ReviseItem,
    UnpinItem,
)
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import Filter, asker
from everloop.memory.retrieval.results import Asked
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings

SETTINGS = Settings(memory=MemorySettings(embedder="none", pins_max=3))


@pytest.fixture
def engine(tmp_path: Path) -> Generator[Engine]:
    with Engine.open(tmp_path, settings=SETTINGS) as engine:
        yield engine


def pivotal(engine: Engine, *item_ids: str, scope: str = "user", witness: str = "") -> int:
    """Take items in that are pivotal; returns where the last fact is."""
    for item_id in item_ids:
        witnesses = (witness,) if witness else ()
        words = f"{item_id} is about {item_id}."
        engine.do(RememberItem(item_id, words, scope=scope, witnesses=witnesses))
        engine.do(RateItem(item_id, 3))
    return engine.log.head


def pinned(engine: Engine, scope: str = "user") -> set[str]:
    with engine.reading() as reader:
        found, _ = page(reader, asker(reader, OWNER), Filter(scopes=(scope,)), pinned=True)
    return {item.item_id for item in found}


def test_beyond_the_cap_the_oldest_automatic_pin_gives_way(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c")
    assert pinned(engine) == {"a", "b", "c"}
    pivotal(engine, "d")
    assert pinned(engine) == {"b", "c", "d"}
    assert engine.memory.find(OWNER, "a").significance == 3, "it matters as it did"


def test_a_pin_set_by_hand_counts_and_never_gives_way(engine: Engine) -> None:
    pivotal(engine, "a", "b")
    engine.do(PinItem("a"))
    pivotal(engine, "c", "d", "e")
    assert pinned(engine) == {"a", "d", "e"}


def test_where_all_are_pinned_by_hand_there_is_one_more(engine: Engine) -> None:
    for item_id in ("a", "b", "c", "d"):
        engine.do(RememberItem(item_id, f"{item_id} is about {item_id}."))
        engine.do(PinItem(item_id))
    pivotal(engine, "e")
    assert pinned(engine) == {"a", "b", "c", "d", "e"}


def test_another_audience_has_pins_of_its_own(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c")
    pivotal(engine, "d", scope="project:garden")
    pivotal(engine, "e", witness="agent:x")
    assert pinned(engine) == {"a", "b", "c", "e"}
    assert pinned(engine, "project:garden") == {"d"}


def test_without_the_newer_rating_the_pin_is_there_again(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c")
    rating = pivotal(engine, "d") - 1  # what gave way is said right after it
    engine.log.retract([rating], reason="a slip", actor=OWNER)
    assert pinned(engine) == {"a", "b", "c"}


def test_what_gave_way_stays_so_when_its_words_change(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c", "d")
    engine.do(ReviseItem("a", text="a is about something else."))
    assert pinned(engine) == {"b", "c", "d"}


def test_what_gave_way_can_be_pinned_by_hand(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c", "d")
    engine.do(PinItem("a"))
    assert pinned(engine) == {"a", "b", "c", "d"}


def test_what_gave_way_is_pinned_again_when_it_is_rated_pivotal_anew(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c", "d")
    assert pinned(engine) == {"b", "c", "d"}
    engine.do(RateItem("a", 1))
    assert pinned(engine) == {"b", "c", "d"}
    again = engine.do(RateItem("a", 3)).facts[0].position
    assert pinned(engine) == {"a", "c", "d"}, "the oldest gives way to it in turn"
    assert [engine.memory.find(OWNER, item).pinned for item in "abcd"] == [True, False, True, True]
    engine.log.retract([again], reason="a slip", actor=OWNER)
    assert pinned(engine) == {"b", "c", "d"}


def test_what_gave_way_and_was_unpinned_by_hand_stays_so(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c", "d")
    engine.do(UnpinItem("a"))
    engine.do(RateItem("a", 1))
    engine.do(RateItem("a", 3))
    assert pinned(engine) == {"b", "c", "d"}
    assert not engine.memory.find(OWNER, "a").pinned


def test_recall_favours_what_is_pinned_now_and_not_what_gave_way(engine: Engine) -> None:
    def favoured() -> set[str]:
        asked = Asked("about", limit=10, mode="text")
        hits = engine.memory.recall(OWNER, asked).hits
        return {hit.item.item_id for hit in hits if dict(hit.why.boosts).get("pinned")}

    pivotal(engine, "a", "b", "c", "d")
    assert favoured() == {"b", "c", "d"}
    engine.do(RateItem("a", 1))
    engine.do(RateItem("a", 3))
    assert favoured() == pinned(engine) == {"a", "c", "d"}
    engine.do(UnpinItem("a"))
    assert favoured() == pinned(engine) == {"c", "d"}


def test_a_pin_is_taken_off_once(engine: Engine) -> None:
    pivotal(engine, "a")
    assert engine.do(UnpinItem("a")).facts
    assert not engine.do(UnpinItem("a")).facts
    engine.do(PinItem("a"))
    assert engine.do(UnpinItem("a")).facts


def test_what_was_retired_takes_no_place_and_a_declined_pin_none_either(engine: Engine) -> None:
    pivotal(engine, "a", "b", "c")
    engine.do(RetireItem("c", "done"))
    pivotal(engine, "d")
    assert pinned(engine) == {"a", "b", "d"}
    engine.do(RememberItem("e", "e is about e."))
    engine.do(UnpinItem("e"))
    engine.do(RateItem("e", 3))
    assert pinned(engine) == {"a", "b", "d"}
