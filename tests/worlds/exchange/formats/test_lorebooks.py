"""Lorebooks: what is unchanged comes out equal, what was changed is written where it belongs."""

from typing import Any

import msgspec
import pytest
from tests.worlds.exchange.samples import BOOK, WORLD_INFO

from everloop.errors import Invalid
from everloop.worlds.exchange.formats.lorebooks import new_book, read_book, write_book
from everloop.worlds.model.story_events import LoreEntry
from everloop.worlds.prompt.lore_timing import timing_of


@pytest.mark.parametrize(
    "value",
    [BOOK, WORLD_INFO, {"spec": "lorebook_v3", "data": BOOK, "odd": 1}],
    ids=["of a card", "world info", "stand-alone"],
)
def test_a_lorebook_comes_out_equal(value: dict[str, Any]) -> None:
    found = read_book(value, "b", "lake.json")
    assert write_book(found.book) == value
    assert list(write_book(found.book)) == list(value)


def test_an_entry_keeps_its_activation() -> None:
    lake, ghosts = read_book(BOOK, "b", "x").book.entries
    assert (lake.content, lake.title) == ("The lake is haunted.", "Lake")
    assert (lake.secondary_keys, lake.logic) == (("night", "fog"), "and_all")
    assert (lake.order, lake.priority, lake.scan_depth, lake.recursive) == (7, 9, 6, False)
    assert (ghosts.regex, ghosts.keys, ghosts.enabled) == (True, ("(?i)ghosts?",), False)


def test_world_info_keeps_its_logic_and_timing() -> None:
    found = read_book(WORLD_INFO, "b", "x")
    coast, fish = found.book.entries
    assert coast.keys == ("coast", "(?i)sea(side)?")
    assert (coast.logic, coast.recursed, coast.regex) == ("not_any", False, True)
    assert (fish.keys, fish.enabled) == (("fish",), False)
    assert found.changed == ()
    assert timing_of(coast).probability == 40


@pytest.mark.parametrize("value", [BOOK, WORLD_INFO], ids=["of a card", "world info"])
def test_a_changed_entry_changes_only_that(value: dict[str, Any]) -> None:
    book = read_book(value, "b", "x").book
    edited = msgspec.structs.replace(book.entries[1], content="None.", enabled=True)
    again = write_book(msgspec.structs.replace(book, entries=(book.entries[0], edited)))
    second = {"of": again["entries"]}["of"][1 if isinstance(again["entries"], list) else "7"]
    assert second["content"] == "None."
    assert read_book(again, "b", "x").book.entries[1].enabled


def test_new_entries_become_a_stand_alone_book() -> None:
    entry = LoreEntry("mine", "The lake is deep.", keys=("lake",), constant=True)
    (again,) = read_book(write_book(new_book([entry], "Mine")), "b", "x").book.entries
    assert (again.content, again.keys, again.constant) == (entry.content, ("lake",), True)


def test_books_of_other_programs_are_converted() -> None:
    novel = {
        "lorebookVersion": 5,
        "entries": [{"keys": ["a"], "text": "b", "displayName": "A", "enabled": True}],
    }
    found = read_book(novel, "b", "x")
    assert found.book.entries[0].content == "b"
    assert "converted" in found.changed[0]
    with pytest.raises(Invalid):
        read_book({"x": 1}, "b", "x")
