"""Storing items, one by one and in batches."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.memory.test_ghosts import Diary

from everloop.errors import Conflict, Invalid
from everloop.log import Command, Context, Receipt
from everloop.memory.model.commands import RememberItem, RetireItem, ReviseItem
from everloop.memory.near_duplicates import detect
from everloop.memory.projections import fts_index
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.service import MemoryService
from everloop.memory.text import analysis
from everloop.testing.bus import FunctionBus


@pytest.fixture
def diary(tmp_path: Path) -> Generator[Diary]:
    """A diary with a few items."""
    diary = Diary(tmp_path / "diary")
    diary.say_all()
    yield diary
    diary.log.close()


def test_a_batch_gives_the_same_items_as_one_by_one(diary: Diary, tmp_path: Path) -> None:
    texts = (
        "Bees swarm in June.",
        "The fence is 12 m long.",
        "bees swarm in June",
        "The fence is 13 m long.",
    )
    alone = Diary(tmp_path / "alone")
    alone.say_all()
    new = [RememberItem("", text, kind="message") for text in texts]
    together = diary.keeper.remember_many(new, by=Context())
    singly = [alone.keeper.remember(each, by=Context()) for each in new]
    assert [kept.new for kept in together] == [kept.new for kept in singly]
    assert together[2].item_id == together[0].item_id
    assert [kept.position for kept in together] == [kept.position for kept in singly]
    alone.log.close()


def test_each_item_of_a_batch_is_compared_with_stored_items(
    diary: Diary,
) -> None:
    names = [f"{chr(97 + n // 26)}{chr(97 + n % 26)}gate" for n in range(120)]
    new = [RememberItem("", f"The {name} stands by the river.", kind="message") for name in names]
    first = diary.keeper.remember_many(new, by=Context())
    again = diary.keeper.remember_many(new, by=Context())
    assert all(kept.new for kept in first)
    assert not any(kept.new for kept in again)
    assert [kept.item_id for kept in again] == [kept.item_id for kept in first]


def test_a_refused_command_of_a_batch_does_not_block_the_others(diary: Diary) -> None:
    wanted = [
        RememberItem("a", "One."),
        RememberItem("item-0", "Not so."),
        RememberItem("b", "Two."),
    ]
    with pytest.raises(Conflict, match="item-0"):
        diary.engine.do_many(wanted)
    assert [diary.keeper.find("user", item_id).text for item_id in "ab"] == ["One.", "Two."]


def test_a_text_is_analysed_once_even_if_it_is_compared_several_times(
    diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "The gate creaks in the wind."
    others = ["The barn is red.", "The shed is locked."]
    analysed: list[tuple[str, str]] = []
    terms_of, document = detect.comparison_terms, analysis.index_terms

    def counted_terms_of(text: str) -> tuple[str, ...]:
        analysed.append(("terms_of", text))
        return terms_of(text)

    def counted_document(text: str) -> str:
        analysed.append(("document", text))
        return document(text)

    monkeypatch.setattr(detect, "comparison_terms", counted_terms_of)
    monkeypatch.setattr(fts_index, "index_terms", counted_document)

    def do_after_others(command: Command, *, by: Context, request_id: str | None) -> Receipt:
        if others:  # somebody else is quicker
            diary.engine.do(RememberItem(f"other-{len(others)}", others.pop()))
        return diary.engine.do(command, by=by, request_id=request_id)

    service = MemoryService(
        diary.log, FunctionBus(do_after_others), diary.stage.clock, diary.stage.ids
    )
    kept = service.remember(RememberItem("", text), by=Context())
    assert kept.new
    assert not others
    assert [how for how, what in analysed if what == text] == ["terms_of", "document"]


@pytest.mark.parametrize("when", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"])
def test_a_time_out_of_range_is_refused(diary: Diary, when: str) -> None:
    for new in (
        RememberItem("", "The well is dry.", durability=when),
        RememberItem("", "The well was dug.", happened_at=when),
    ):
        with pytest.raises(Invalid, match="out of range"):
            diary.keeper.remember(new, by=Context())


@pytest.mark.parametrize(
    "text",
    [
        "The pond froze.",
        "#\n\nThe pond froze.",
        "\n## The pond froze.",
        "```text\nThe pond froze.\n```",
    ],
)
def test_an_item_without_a_title_gets_one_from_its_text(diary: Diary, text: str) -> None:
    diary.engine.do(RememberItem("pond", text, title="  "))
    assert diary.keeper.find("user", "pond").title == "The pond froze."
    diary.engine.do(ReviseItem("pond", title="Ice"))
    diary.engine.do(ReviseItem("pond", title=" "))
    assert diary.keeper.find("user", "pond").title == "The pond froze."


def test_a_text_of_only_punctuation_is_its_own_title(diary: Diary) -> None:
    diary.engine.do(RememberItem("marks", "###"))
    assert diary.keeper.find("user", "marks").title == "###"


def test_an_item_stored_again_is_found_once_after_its_retraction_is_undone(diary: Diary) -> None:
    position = diary.say("well", "The well is deep.")
    taken_back = diary.log.retract([position], reason="a slip", actor="user").position
    diary.say("well", "The well is deep.")
    diary.log.retract([taken_back], reason="none after all", actor="user")

    def found() -> list[str]:
        hits = diary.keeper.recall("user", SearchQuery("well", mode="text")).hits
        return [hit.item.item_id for hit in hits]

    assert found() == ["well"]
    diary.engine.do(RetireItem("well"))
    assert found() == []
