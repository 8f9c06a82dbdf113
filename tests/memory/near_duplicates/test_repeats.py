"""Near-duplicate detection: when a new item is a repetition, and when it is new."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import pytest
from tests.memory.test_ghosts import Diary

from everloop.log import Context
from everloop.memory.browse.queries import item_history
from everloop.memory.model.commands import (
    GrantAudience,
    RelateItems,
    RememberItem,
    RetireItem,
    ReviseItem,
)
from everloop.memory.projections.queries import load_viewer
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.service import RememberResult


@pytest.fixture
def diary(tmp_path: Path) -> Generator[Diary]:
    """An empty diary."""
    diary = Diary(tmp_path / "diary")
    yield diary
    diary.log.close()


def remember(
    diary: Diary, text: str, *, days: float | None = None, until: float | None = None
) -> RememberResult:
    """Remember a text that happened `days` from now and expires `until` days from now."""
    now = diary.stage.clock.now()
    happened = "" if days is None else (now + timedelta(days=days)).isoformat()
    holds = "durable" if until is None else (now + timedelta(days=until)).isoformat()
    new = RememberItem("", text, happened_at=happened, durability=holds)
    return diary.keeper.remember(new, by=Context())


def test_a_repetition_of_an_expired_item_is_new(diary: Diary) -> None:
    first = remember(diary, "The office is closed", until=2)
    assert not remember(diary, "The office is closed").new
    diary.stage.clock.tick(days=3)
    again = remember(diary, "The office is closed", until=5)
    assert again.new
    assert diary.keeper.find("user", again.item_id).holds_until
    assert again.item_id != first.item_id


def test_the_same_text_with_another_expiry_is_new(diary: Diary) -> None:
    remember(diary, "The office is closed", until=2)
    assert remember(diary, "The office is closed", until=20).new
    assert not remember(diary, "The office is closed", until=20.5).new


def test_the_same_text_on_another_day_is_another_event(diary: Diary) -> None:
    first = remember(diary, "I paid Tom 20 euros", days=-100)
    assert not remember(diary, "I paid Tom 20 euros", days=-100.2).new
    later = remember(diary, "I paid Tom 20 euros", days=-40)
    today = remember(diary, "I paid Tom 20 euros", days=0)
    assert later.new
    assert today.new
    assert len({first.item_id, later.item_id, today.item_id}) == 3


def test_duplicates_in_a_batch_are_detected_as_one_by_one(diary: Diary, tmp_path: Path) -> None:
    alone, now = Diary(tmp_path / "alone"), diary.stage.clock.now()
    days = [(now - timedelta(days=each)).isoformat() for each in (100, 100.4, 40, 0)]
    over = (now - timedelta(days=1)).isoformat()
    new = [
        *(RememberItem("", "I paid Tom 20 euros", happened_at=day) for day in days),
        RememberItem("", "I paid Tom 20 euros"),
        *(RememberItem("", "The office is closed", durability=end) for end in (over, over)),
    ]
    together = diary.keeper.remember_many(new, by=Context())
    singly = [alone.keeper.remember(each, by=Context()) for each in new]
    assert [kept.new for kept in together] == [kept.new for kept in singly]
    alone.log.close()


def test_a_contradiction_is_detected_whatever_the_times_are(diary: Diary) -> None:
    first = remember(diary, "The humidity target of the workshop is 45 percent.", days=-100)
    later = remember(diary, "The humidity target of the workshop is 50 percent.", days=-10)
    assert later.contradicts == (first.item_id,)


def test_a_revised_item_contradicts_only_while_its_text_does(diary: Diary) -> None:
    first = remember(diary, "The humidity target of the workshop is 45 percent.").item_id
    later = remember(diary, "The humidity target of the workshop is 50 percent.").item_id

    def contradictions() -> set[tuple[str, ...]]:
        hits = diary.keeper.recall("user", SearchQuery("humidity target", mode="text")).hits
        return {hit.item.contradicts for hit in hits}

    assert contradictions() == {(first,), (later,)}
    for text, contradict in (
        ("The humidity target of the workshop is 55 percent.", True),
        ("The humidity target of the workshop is 45 percent.", False),
        ("Humidity is a target of nobody.", False),
        ("The humidity target of the workshop is 50 percent.", True),
    ):
        diary.engine.do(ReviseItem(later, text=text))
        assert contradictions() == ({(first,), (later,)} if contradict else {()}), text


def test_a_text_without_a_time_is_a_repetition_at_any_time(diary: Diary) -> None:
    remember(diary, "Tom likes football")
    diary.stage.clock.tick(days=300)
    assert not remember(diary, "Tom likes football").new


def test_short_answers_with_different_titles_are_separate_items(diary: Diary) -> None:
    def answer(title: str, text: str = "The answer is yes.") -> RememberResult:
        return diary.keeper.remember(RememberItem("", text, title=title), by=Context())

    first = answer("Is Anna coming?")
    assert answer("Is Ben coming?").new
    assert answer("Is Anna coming").item_id == first.item_id
    other = answer("Is Tom coming?", "The answer is not yes.")
    assert other.new
    assert other.contradicts == ()


def test_adding_only_a_title_is_a_repetition(diary: Diary) -> None:
    first = remember(diary, "The spare key hangs behind the clock.")
    titled = RememberItem("", "The spare key hangs behind the clock.", title="Spare key")
    assert diary.keeper.remember(titled, by=Context()).item_id == first.item_id


def test_an_agents_item_does_not_replace_a_users_statement(diary: Diary) -> None:
    agent = Context(actor="agent:guide")
    diary.engine.do(GrantAudience("agent:guide", ("user",)))
    said = RememberItem("", "Anna is allergic to nuts.")
    theirs = diary.keeper.remember(said, by=agent)
    mine = diary.keeper.remember(said, by=Context())
    assert mine.new
    diary.engine.do(RetireItem(theirs.item_id), by=agent)
    hits = diary.keeper.recall("user", SearchQuery("what is Anna allergic to", mode="text")).hits
    assert [hit.item.item_id for hit in hits] == [mine.item_id]
    assert diary.keeper.remember(said, by=agent).item_id == mine.item_id


def test_a_near_duplicate_is_kept_and_linked(diary: Diary) -> None:
    lines = "we sand it, let it dry for a night, turn the board, and oil the other side as well"
    long = f"Before a board is oiled, {lines}; then the rag goes into the water outside the door."
    first = remember(diary, long)
    other = remember(diary, long.replace("for a night", "for a whole night"))
    assert (other.new, other.varies, other.contradicts) == (True, first.item_id, ())
    with diary.log.reading() as reader:
        for one, another in ((first, other), (other, first)):
            known = item_history(reader, load_viewer(reader, "user"), one.item_id)
            assert [item.item_id for item in known.variants] == [another.item_id]
        assert item_history(reader, load_viewer(reader, "user"), first.item_id).contradictions == ()


def remember_twice(diary: Diary) -> tuple[RememberResult, int]:
    """An item and its repetition, which has a cause; returns the item and the cause's position."""
    first = remember(diary, "The spare key hangs behind the clock.")
    source = diary.say("message", "Where is the key? Behind the clock, I told you.")
    again = RememberItem("", "the spare key hangs behind the clock", because=(source,))
    assert not diary.keeper.remember(again, by=Context()).new
    return first, source


def test_a_repetition_is_retracted_and_restored_with_its_cause(diary: Diary) -> None:
    first, source = remember_twice(diary)
    before = diary.log.head
    undo = diary.log.retract([source], reason="not that", actor="user").position
    assert diary.keeper.find("user", first.item_id).repeats == 0
    diary.log.retract([undo], reason="it was", actor="user")
    assert diary.keeper.find("user", first.item_id).repeats == 1
    with diary.log.reading(as_of=before) as reader:
        assert item_history(reader, load_viewer(reader, "user"), first.item_id).item.repeats == 1


def test_a_repetition_is_purged_with_its_cause(diary: Diary) -> None:
    first, source = remember_twice(diary)
    diary.log.purge([source], reason="private", actor="user")
    with diary.log.reading() as reader:
        assert reader.rows("SELECT text FROM memory_repeats") == []
        assert reader.rows("SELECT 1 FROM log WHERE instr(data, 'the spare key')") == []
        known = item_history(reader, load_viewer(reader, "user"), first.item_id)
    assert (known.item.text, known.repeats) == ("The spare key hangs behind the clock.", ())


def test_among_similar_items_the_requested_one_comes_first(diary: Diary) -> None:
    kept = [remember(diary, f"Room {n} has a code, it is {540 + n}") for n in range(11, 17)]
    assert not any(each.contradicts for each in kept)
    hits = diary.keeper.recall("user", SearchQuery("what is the code of room 12", mode="text")).hits
    assert hits[0].item.item_id == kept[1].item_id


def test_a_weak_match_comes_after_the_item_it_contradicts_though_newer(diary: Diary) -> None:
    fits = remember(diary, "The spare key of the cellar hangs in the kitchen")
    other = remember(diary, "Nothing hangs anywhere")
    diary.engine.do(RelateItems(other.item_id, fits.item_id, "contradicts"))
    asked = SearchQuery("where hangs the spare key of the cellar", mode="text")
    hits = diary.keeper.recall("user", asked).hits
    assert [hit.item.item_id for hit in hits] == [fits.item_id, other.item_id]


def test_concurrent_identical_items_are_stored_once(diary: Diary) -> None:
    for n in range(20):
        both = Barrier(2)

        def say(text: str, both: Barrier = both) -> RememberResult:
            both.wait()
            return diary.keeper.remember(RememberItem("", text), by=Context())

        with ThreadPoolExecutor(2) as pool:
            kept = list(pool.map(say, [f"The code of locker {n} is {n + 1000}"] * 2))
        assert {each.new for each in kept} == {True, False}
        assert len({each.item_id for each in kept}) == 1


@pytest.mark.parametrize("again", ["The code of the alarm is 4711", "It is out of order"])
def test_a_retried_request_gets_the_same_answer(diary: Diary, again: str) -> None:
    keep = diary.keeper.remember
    other = keep(RememberItem("", "The code of the alarm is 1234"), by=Context())
    text = RememberItem("", "The code of the alarm is 4711", durability="2026-12-31T00:00:00Z")
    first = keep(text, by=Context(), request_id="one")
    assert first.new
    assert first.contradicts == (other.item_id,)
    head = diary.log.head
    assert keep(RememberItem("", again), by=Context(), request_id="one").item_id == first.item_id
    assert keep(text, by=Context(), request_id="one") == first
    assert diary.log.head == head


def test_a_retried_repetition_gets_the_same_answer(diary: Diary) -> None:
    keep = diary.keeper.remember
    text = RememberItem("", "The code of the alarm is 4711")
    item_id = keep(text, by=Context()).item_id
    repeated = keep(text, by=Context(), request_id="two")
    assert not repeated.new
    diary.engine.do(RetireItem(item_id, "over"))
    assert keep(text, by=Context(), request_id="two") == repeated


def test_a_contradiction_is_recorded_atomically_with_the_item(diary: Diary) -> None:
    keep = diary.keeper.remember
    keep(RememberItem("", "The code of the alarm is 1234"), by=Context())
    new = keep(RememberItem("", "The code of the alarm is 4711"), by=Context(), request_id="one")
    with diary.log.reading() as reader:
        kinds = [record.kind for record in reader.records_of_request("one")]
    assert new.contradicts
    assert kinds == ["memory.remembered", "memory.related"]


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        ("The release is on 2026-05-01", "The release is on 1 May 2026", "2 May 2026"),
        ("Die Abgabe ist am 1. März 2026", "Die Abgabe ist am 01.03.2026", "02.03.2026"),
        ("La livraison est le 1er mai 2026", "La livraison est le 2026-05-01", "2026-05-02"),
        ("The meeting is at 3 pm", "The meeting is at 15:00", "16:00"),
    ],
)
def test_a_date_in_another_form_is_linked_and_another_date_contradicts_both(
    diary: Diary, one: str, same: str, other: str
) -> None:
    first, second = remember(diary, one), remember(diary, same)
    assert (second.new, second.varies, second.contradicts) == (True, first.item_id, ())
    third = remember(diary, f"{same.rsplit(' ', len(other.split()))[0]} {other}")
    assert set(third.contradicts) == {first.item_id, second.item_id}
