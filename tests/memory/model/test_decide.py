"""Decisions about an item, given its previous facts."""

import pytest

from everloop.errors import Conflict
from everloop.log import Event
from everloop.memory.model.commands import ReviseItem
from everloop.memory.model.decide import revise_item
from everloop.memory.model.events import Origin, Rated, Remembered, Revised
from everloop.memory.model.state import ITEM_FOLD, ItemState
from everloop.testing.deterministic import Given, given

REMEMBERED = Remembered(
    item_id="mem-1",
    title="The key",
    text="The key is under the pot.",
    kind="fact",
    scope="user",
    witnesses=(),
    origin=Origin(),
    learned_via="told",
    durability="durable",
    happened_at="",
    follows="",
    derived_from=(),
    session="",
)
MAT = Revised("mem-1", "The key", "The key is under the mat.", "user", ())
ANN = Revised("mem-1", "The key", "Ann has the key.", "user", ())


def revising(known: Given[ItemState], text: str, base: int | None) -> list[Event]:
    return known.when(revise_item, ReviseItem("mem-1", text=text, base=base))


@pytest.mark.promise("P-MEM-5")
def test_a_revision_based_on_an_older_version_is_refused() -> None:
    known = given(ITEM_FOLD, REMEMBERED, MAT)
    with pytest.raises(Conflict, match="changed since") as refused:
        revising(known, ANN.text, base=1)
    assert "base" in refused.value.hint


def test_a_revision_based_on_a_retracted_version_is_refused() -> None:
    with pytest.raises(Conflict):
        revising(given(ITEM_FOLD, REMEMBERED), ANN.text, base=2)


def test_a_revision_based_on_the_newest_version_or_on_none_is_accepted() -> None:
    known = given(ITEM_FOLD, REMEMBERED, MAT)
    assert revising(known, ANN.text, base=2) == [ANN]
    assert revising(known, ANN.text, base=None) == [ANN]


def test_other_facts_do_not_outdate_the_base_of_a_revision() -> None:
    assert revising(given(ITEM_FOLD, REMEMBERED, Rated("mem-1", 2)), ANN.text, base=1) == [ANN]


def test_a_revision_equal_to_the_newest_version_is_not_refused() -> None:
    assert revising(given(ITEM_FOLD, REMEMBERED, MAT), MAT.text, base=1) == []
