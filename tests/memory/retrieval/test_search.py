"""Recall: what hybrid search finds, why, and its fallback when a retriever is missing."""

from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.memory.test_ghosts import Diary

from everloop.errors import Conflict, Forbidden, Invalid, ModelFailed
from everloop.log import Context
from everloop.memory.explain import BOOST_REASONS, explain_item
from everloop.memory.model.commands import (
    CiteItem,
    DemoteItem,
    GrantAudience,
    PinItem,
    RateItem,
    RememberItem,
    RetireItem,
    ReviseItem,
    UnpinItem,
)
from everloop.memory.projections.queries import Filter
from everloop.memory.retrieval.ranking import ACT_WEIGHTS
from everloop.memory.retrieval.results import NO_MATCH, SearchQuery
from everloop.memory.service import RememberResult
from everloop.testing.deterministic import NEW_YEAR
from everloop.testing.embedder import WordEmbedder

USER = "user"


@pytest.fixture
def diary(tmp_path: Path) -> Generator[Diary]:
    """An empty diary."""
    opened = Diary(tmp_path / "diary")
    yield opened
    opened.log.close()


def found(diary: Diary, text: str, principal: str = USER, **how: object) -> list[str]:
    """The ids of the items that keyword search finds."""
    asked = SearchQuery(text, mode="text", **how)  # type: ignore[arg-type]
    return [hit.item.item_id for hit in diary.keeper.recall(principal, asked).hits]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("She was running late", "run"),
        ("Der Bär im Café", "bar cafe"),
        ("call parse_http_header first", "parseHttpHeader"),
        ("call parseHttpHeader first", "http header"),
        ("see src/everloop/log/scribe.py", "scribe.py"),
        ("東京タワーに行きました", "東京"),
        ("Will plays in The Who", "does Will play in The Who?"),
        ("the phrase is black coffee only", '"black coffee"'),
        ("C++ and C# are languages", "C++"),
        ("Party at noon 🎉🍕", "🎉"),
        ("Wir fahren nach Köln", "Koeln"),
        ("Wir fahren nach Koeln", "Köln"),
        ("كَتَبَ رسالة", "كتب"),
    ],
)
def test_keyword_search_finds_words_in_any_form(diary: Diary, text: str, question: str) -> None:
    diary.say("wanted", text)
    for number in range(5):
        diary.say(f"noise-{number}", f"Something else entirely, number {number}.")
    assert found(diary, question)[:1] == ["wanted"]


def test_a_long_item_matches_by_a_passage_and_is_returned_whole(diary: Diary) -> None:
    long = "\n\n".join(f"Paragraph {n} is about topic{n} and nothing else. " * 9 for n in range(30))
    diary.say("long", long)
    diary.say("short", "topic17 in a few words")
    answer = diary.keeper.recall(USER, SearchQuery("topic17 paragraph", mode="text"))
    whole = next(hit.item for hit in answer.hits if hit.item.item_id == "long")
    assert whole.text == long


def test_a_message_is_found_by_the_words_of_the_one_before_it(diary: Diary) -> None:
    diary.say("question", "What is the capital of Iceland?")
    diary.say("answer", "Reykjavik, of course.", "question")
    diary.say("noise", "The kitchen needs paint.")
    assert "answer" in found(diary, "capital of Iceland")


def test_sources_of_a_retired_summary_are_found_again(diary: Diary) -> None:
    oak, elm = diary.say("oak", "The old oak fell."), diary.say("elm", "The old elm fell.")
    whole = RememberItem("both", "Two old trees fell.", kind="summary", derived_from=("oak", "elm"))
    made = diary.engine.do(msgspec.structs.replace(whole, because=(oak, elm))).position
    for name in ("oak", "elm"):
        diary.engine.do(DemoteItem(name, "both", (made,)))
    assert found(diary, "old") == ["both"]
    let_go = diary.engine.do(RetireItem("both"))
    assert sorted(found(diary, "old")) == ["elm", "oak"]
    assert not diary.keeper.find(USER, "oak").retired
    diary.log.retract([let_go.position], reason="needed", actor=USER)
    assert found(diary, "old") == ["both"]
    why = diary.keeper.why_not(USER, "oak", SearchQuery("old", mode="text"))
    assert why.sentence == "It was replaced by its summary, which is found instead."


def test_items_of_the_time_that_a_question_names_come_first(diary: Diary) -> None:
    diary.stage.clock.time = datetime(2026, 11, 15, 12, tzinfo=UTC)
    for month in (3, 5, 9):
        at = datetime(2026, month, 10, tzinfo=UTC).isoformat()
        diary.engine.do(RememberItem(f"m{month}", "We went hiking together.", happened_at=at))
    assert found(diary, "Where did we go hiking in May?")[0] == "m5"
    assert found(diary, "What did I first say about hiking?")[0] == "m3"
    assert found(diary, "What did I last say about hiking?")[0] == "m9"
    assert found(diary, "what did I tell you in September about hiking") == ["m9"]
    for at in ("2026-01-01T00:00:00Z", "2026-10-01T00:00:00Z"):  # of what was said, none said it
        summary = RememberItem(f"s{at[5:7]}", "We went hiking together.", kind="summary")
        diary.engine.do(msgspec.structs.replace(summary, happened_at=at))
    assert found(diary, "What did I first say about hiking?")[:3] == ["m3", "m5", "m9"]
    assert found(diary, "What did I last say about hiking?")[:3] == ["m9", "m5", "m3"]


def test_time_words_do_not_match_as_keywords(diary: Diary) -> None:
    diary.stage.clock.time = datetime(2026, 11, 17, 12, tzinfo=UTC)
    for item_id, text, at in (
        ("tulips", "Garden: planted tulips.", "2026-03-02T00:00:00Z"),
        ("lawn", "Garden: mowed the lawn.", "2026-03-06T00:00:00Z"),
        ("car", "My first car was red.", "2020-01-01T00:00:00Z"),
        ("release", "The release of version 2 happened.", "2026-09-01T00:00:00Z"),
        ("dentist", "One filling, and no coffee after it.", "2026-11-10T09:00:00Z"),
    ):
        diary.engine.do(RememberItem(item_id, text, happened_at=at))
    assert found(diary, "what did I first say about the garden") == ["tulips", "lawn"]
    assert found(diary, "what happened last Tuesday") == ["dentist"]


def test_a_question_with_only_a_day_finds_items_of_that_day(diary: Diary) -> None:
    diary.stage.clock.time = datetime(2026, 11, 15, 12, tzinfo=UTC)
    for day in (13, 14, 15):
        at = datetime(2026, 11, day, 10, tzinfo=UTC).isoformat()
        diary.engine.do(RememberItem(f"day-{day}", f"Otters, {day} of them.", happened_at=at))
    assert found(diary, "what did we talk about yesterday") == ["day-14"]


def test_before_an_event_means_before_the_date_that_memory_has_for_it(diary: Diary) -> None:
    diary.stage.clock.time = datetime(2026, 11, 15, 12, tzinfo=UTC)
    for day, text in (
        (1, "Budget looks fine."),
        (10, "The release went out."),
        (20, "Budget gone."),
    ):
        at = datetime(2026, 6, day, tzinfo=UTC).isoformat()
        diary.engine.do(RememberItem(f"d{day}", text, happened_at=at))
    assert found(diary, "what did I say about the budget before the release?") == ["d1"]


def test_a_filter_excludes_all_other_items(diary: Diary) -> None:
    diary.engine.do(RememberItem("a", "garden plan", scope="project:a"))
    diary.engine.do(RememberItem("b", "garden plan for b", scope="project:b", kind="note"))
    assert found(diary, "garden", only=Filter(scopes=("project:a",))) == ["a"]
    assert found(diary, "garden", only=Filter(kinds=("note",))) == ["b"]
    assert sorted(found(diary, "garden", only=Filter(scope_kinds=("project",)))) == ["a", "b"]
    assert found(diary, "garden", only=Filter(before=NEW_YEAR)) == []


def test_significant_and_pinned_items_come_first_among_equals(diary: Diary) -> None:
    for name in ("plain", "rated", "pinned"):
        diary.engine.do(RememberItem(name, f"garden note {name}"))
    diary.engine.do(RateItem("rated", 3))
    diary.engine.do(PinItem("pinned"))
    diary.engine.do(RateItem("pinned", 3))
    assert found(diary, "garden note")[0] in {"pinned", "rated"}
    assert diary.keeper.find(USER, "rated").pinned
    diary.engine.do(UnpinItem("rated"))
    assert not diary.keeper.find(USER, "rated").pinned


def test_an_expired_item_ranks_below_a_valid_one(diary: Diary) -> None:
    until = NEW_YEAR.replace(year=2025).isoformat()
    diary.engine.do(RememberItem("old", "Handoff: the garden gate is open", durability=until))
    diary.engine.do(RememberItem("new", "The garden gate has a lock."))
    assert found(diary, "garden gate") == ["new", "old"]


def test_hits_explain_their_retriever_and_their_points(diary: Diary) -> None:
    diary.say_all()
    diary.keeper.embed_missing()
    answer = diary.keeper.recall(USER, SearchQuery("red roses"))
    best = answer.hits[0]
    assert best.source == "both"
    assert {leg.leg for leg in best.why.legs} == {"words", "meaning"}
    total = sum(leg.points for leg in best.why.legs) + sum(points for _, points in best.why.boosts)
    assert best.why.points == pytest.approx(total, abs=0.01)


def test_a_minimum_similarity_applies_before_fusion(diary: Diary) -> None:
    diary.say_all()
    assert found(diary, "roses zebra quokka", min_similarity=0.9) == []
    assert found(diary, "roses zebra quokka", min_similarity=0.05)


class FailingEmbedder:
    """An embedder whose server is down."""

    name = "failing"
    dimensions = 64

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Fails."""
        raise ModelFailed(f"no answer for {len(texts)} texts")


@pytest.mark.promise("P-MEM-4")
def test_a_failing_embedder_falls_back_to_keywords_and_says_so(diary: Diary) -> None:
    diary.say_all()
    assert diary.keeper.memory.vector_index is not None
    diary.keeper.memory.vector_index.embedder = FailingEmbedder()
    answer = diary.keeper.recall(USER, SearchQuery("red roses"))
    assert answer.hits[0].item.item_id == "item-0"
    assert "only words" in answer.notes[0]
    diary.keeper.memory.vector_index = None
    assert "No embedder" in diary.keeper.recall(USER, SearchQuery("red roses")).notes[0]


class ZeroEmbedder(WordEmbedder):
    """An embedder that returns a zero vector for a question."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns zeros for a question."""
        vectors = super().embed(texts)
        return vectors * 0 if texts[0].endswith("?") else vectors


def test_a_question_with_a_zero_vector_falls_back_to_keywords_and_says_so(
    diary: Diary,
) -> None:
    diary.say_all()
    assert diary.keeper.memory.vector_index is not None
    diary.keeper.memory.vector_index.embedder = ZeroEmbedder()
    diary.keeper.embed_missing()
    answer = diary.keeper.recall(USER, SearchQuery("bees?", mode="semantic"))
    found = [hit.item.item_id for hit in answer.hits if hit.source == "words"]
    assert found == ["item-2", "item-3"]  # which came after it
    assert "only words were searched" in answer.notes[0]


def test_items_without_a_vector_are_found_by_keywords(diary: Diary) -> None:
    diary.say_all()
    answer = diary.keeper.recall(USER, SearchQuery("bees"))
    assert answer.hits[0].item.item_id == "item-2"
    assert "still being embedded" in answer.notes[0]
    assert diary.keeper.embed_missing() == 4
    assert diary.keeper.embed_missing() == 0
    assert diary.keeper.recall(USER, SearchQuery("bees")).notes == ()


@pytest.mark.parametrize("text", ["", "   ", "x" * 10_001])
def test_an_empty_or_too_long_question_is_rejected(diary: Diary, text: str) -> None:
    with pytest.raises(Invalid) as refusal:
        diary.keeper.recall(USER, SearchQuery(text))
    assert refusal.value.hint


@pytest.mark.parametrize(
    "text", ['"', "AND OR NOT", "a* NEAR(b)", "col:x", "\x00", "'; DROP", "()"]
)
def test_query_syntax_in_a_question_is_treated_as_text(diary: Diary, text: str) -> None:
    diary.say_all()
    diary.keeper.recall(USER, SearchQuery(text, mode="text"))


def test_a_repetition_is_linked_and_not_stored_again(diary: Diary) -> None:
    first = remember(diary, "The release of the engine is planned for the spring.")
    again = remember(diary, "the release of the engine is planned for the spring")
    assert (again.item_id, again.new) == (first.item_id, False)
    assert diary.keeper.find(USER, first.item_id).repeats == 1


def test_contradicting_items_are_kept_and_shown_side_by_side_newest_first(diary: Diary) -> None:
    first = remember(diary, "The release of the engine is on 12 May 2027.")
    diary.stage.clock.tick(days=1)
    second = remember(diary, "The release of the engine is on 14 May 2027.")
    assert second.contradicts == (first.item_id,)
    hits = diary.keeper.recall(USER, SearchQuery("release of the engine", mode="text")).hits
    assert [hit.item.item_id for hit in hits[:2]] == [second.item_id, first.item_id]
    assert hits[0].item.contradicts == (first.item_id,)


def test_the_same_words_for_another_audience_are_another_item(diary: Diary) -> None:
    first = remember(diary, "The surprise party is on Friday.", witnesses=("anna",))
    second = remember(diary, "The surprise party is on Friday.", witnesses=("ben",))
    assert second.new
    assert second.item_id != first.item_id


def test_remembering_an_existing_id_is_idempotent_and_conflicts_with_another_text(
    diary: Diary,
) -> None:
    diary.say("x", "one thing")
    assert diary.engine.do(RememberItem("x", "one thing")).facts == ()
    with pytest.raises(Conflict):
        diary.engine.do(RememberItem("x", "another thing"))


@pytest.mark.parametrize(
    "bad",
    [
        RememberItem("x", "  "),
        RememberItem("x", "text", scope="everyone"),
        RememberItem("x", "text", scope="project:*"),
        RememberItem("x", "text", learned_via="dreamt"),
        RememberItem("x", "text", happened_at="yesterday"),
        RememberItem("x", "text", happened_at="2026-01-01T00:00:00"),
        RememberItem("x", "text", title="t" * 1_025),
    ],
)
def test_an_invalid_item_is_rejected(diary: Diary, bad: RememberItem) -> None:
    with pytest.raises(Invalid):
        diary.engine.do(bad)


def test_an_item_cited_by_a_user_is_not_retired_without_force(diary: Diary) -> None:
    diary.say("x", "a fact")
    diary.engine.do(CiteItem("x", "lesson:1", by_user=True))
    with pytest.raises(Forbidden, match="lesson:1"):
        diary.engine.do(RetireItem("x"))
    diary.engine.do(RetireItem("x", force=True))
    assert found(diary, "fact") == []
    assert diary.keeper.find(USER, "x").retired


def test_a_revised_item_is_found_by_its_new_text_only(diary: Diary) -> None:
    diary.say("x", "The meeting is on Monday.")
    diary.engine.do(ReviseItem("x", text="The meeting is on Thursday."))
    assert found(diary, "Monday") == []
    assert found(diary, "Thursday") == ["x"]
    assert diary.keeper.find(USER, "x").title == "The meeting is on Thursday."


def test_why_not_names_the_reason_an_item_is_missing(diary: Diary) -> None:
    diary.say_all()
    diary.say("lonely", "A ship sails past.")
    diary.engine.do(RetireItem("item-3", force=True))
    diary.engine.do(GrantAudience("agent:x", ("global",)))
    head = diary.log.head
    diary.say("gone", "A note on another branch.")
    diary.log.rewind(head, actor="user")
    retracted = diary.say("taken-back", "A note.")
    diary.log.retract([retracted], reason="", actor="user")

    def reason(item_id: str, asked: SearchQuery, principal: str = USER) -> str:
        return diary.keeper.why_not(principal, item_id, asked).reason

    words = SearchQuery("roses", limit=1, mode="text")
    assert reason("item-0", words) == "here"
    assert reason("lonely", words) == "not found"
    assert reason("item-3", words) == "retired"
    assert reason("item-1", SearchQuery("roses in the garden", limit=1, mode="text")) == "rank"
    assert reason("item-0", SearchQuery("roses", only=Filter(kinds=("note",)))) == "filter"
    assert reason("gone", words) == "branch"
    assert reason("taken-back", words) == "retracted"
    assert reason("nothing", words) == "unknown"
    assert reason("item-0", words, "agent:x") == "unknown"


def test_what_does_not_fit_well_enough_is_closest_and_why_not_says_so(diary: Diary) -> None:
    diary.say("asked", "Do the tulips need water?")
    asked = SearchQuery("Which tulips need water?", limit=5, mode="text")
    answer = diary.keeper.recall(USER, asked)
    assert answer.hits == ()
    assert [hit.item.item_id for hit in answer.closest] == ["asked"]
    assert answer.notes[-1] == NO_MATCH
    verdict = diary.keeper.why_not(USER, "asked", asked)
    assert verdict.reason == "weak"
    assert "does not fit the question well enough" in verdict.sentence
    assert verdict.why is not None


def test_a_time_filter_in_the_question_is_reported(diary: Diary) -> None:
    diary.say("said", "We talked about the otters of the river.")
    asked = SearchQuery("what did we talk about in March 2019 about otters", mode="text")
    answer = diary.keeper.recall(USER, asked)
    stretch = "from 1 March 2019 to 31 March 2019"
    assert answer.hits == ()
    assert answer.notes == (f"Only what happened {stretch} was searched.",)
    why = diary.keeper.why_not(USER, "said", asked)
    assert (why.reason, stretch in why.sentence) == ("filter", True)


def test_why_and_why_not_work_for_the_past_and_for_other_branches(diary: Diary) -> None:
    diary.say_all()
    then = diary.log.head
    diary.say("later", "Red roses came later.")
    diary.engine.do(RetireItem("item-0", force=True))
    diary.log.rewind(then, actor="user", name="without")
    words = SearchQuery("roses", limit=5, mode="text")
    told = partial(explain_item, diary.keeper, USER, USER)
    assert diary.keeper.why_not(USER, "later", words).reason == "branch"
    assert diary.keeper.why_not(USER, "later", words, branch="main").reason == "here"
    assert diary.keeper.why_not(USER, "item-0", words, branch="main").reason == "retired"
    assert told("item-0", words, as_of=then).found
    assert not told("item-0", words, branch="main").found
    assert not told("later", words, branch="main", as_of=then).found


def remember(diary: Diary, text: str, *, witnesses: tuple[str, ...] = ()) -> RememberResult:
    """Remember a text through the memory service."""
    return diary.keeper.remember(RememberItem("", text, witnesses=witnesses), by=Context())


def test_what_was_told_comes_before_the_question_and_its_copies(diary: Diary) -> None:
    diary.say("earlier", "what can't Anna eat?")
    diary.say("again", "what can't Anna eat?")
    diary.say("fact", "Anna is allergic to nuts, so she cannot eat marzipan.")
    assert found(diary, "what can't Anna eat?") == ["fact"]


def test_a_question_that_was_asked_is_found_by_its_words(diary: Diary) -> None:
    diary.say("asked", "can you explain eigenvalues?")
    assert found(diary, "eigenvalues") == ["asked"]


def test_a_word_of_time_does_not_defeat_a_minimum_similarity(diary: Diary) -> None:
    diary.say_all()
    diary.keeper.embed_missing()
    for mode in ("text", "semantic", "hybrid"):
        asked = SearchQuery("zebra today", mode=mode, min_similarity=0.9)
        assert not diary.keeper.recall(USER, asked).hits


def test_a_greeting_finds_no_messages(diary: Diary) -> None:
    diary.say_all()
    diary.say("greeted", "hello there")
    assert found(diary, "hello") == []


def test_in_the_course_of_a_conversation_names_no_time(diary: Diary) -> None:
    diary.stage.clock.time = datetime(2026, 11, 15, 12, tzinfo=UTC)
    at = "2026-03-10T00:00:00Z"
    diary.engine.do(RememberItem("said", "James collects old maps of the coast.", happened_at=at))
    diary.engine.do(RememberItem("other", "James called.", happened_at="2026-11-14T00:00:00Z"))
    asked = "What maps did James mention during the course of the conversation?"
    assert found(diary, asked)[0] == "said"


def test_standing_instructions_and_preferences_come_with_a_request_for_advice(
    diary: Diary,
) -> None:
    diary.say("rule", "Always answer in metric units.")
    diary.say("taste", "I prefer trains to flights.")
    for number in range(8):
        diary.say(f"trip-{number}", f"Trip {number} to Lisbon took {number + 2} hours.")
    advised = found(diary, "How should I travel to Lisbon, by trains or flights?")
    assert "taste" in advised[:3]
    assert "rule" in found(diary, "Can you help me convert units for the recipe?")[:3]


def test_a_question_for_an_order_of_events_is_answered_by_date(diary: Diary) -> None:
    days = ("2026-05-01", "2026-02-01", "2026-08-01")
    for number, day in enumerate(days):
        text = f"Kitchen: {('tiles laid', 'sink chosen', 'lamp hung')[number]}."
        diary.engine.do(RememberItem(f"step-{number}", text, happened_at=f"{day}T00:00:00Z"))
    asked = "List in order the steps of the kitchen that I mentioned"
    assert found(diary, asked) == ["step-1", "step-0", "step-2"]


def test_a_standing_instruction_does_not_come_before_what_answers(diary: Diary) -> None:
    diary.say("rule", "Always answer in metric units.")
    diary.say("fact", "The oven takes gas.")
    assert found(diary, "Which units does the oven take?") == ["fact", "rule"]


def test_of_what_was_said_at_a_time_the_facts_come_first(diary: Diary) -> None:
    diary.stage.clock.time = datetime(2026, 5, 20, 12, tzinfo=UTC)
    spoken = (
        ("told", "The boiler was mended.", "told"),
        ("answer", "That must be a relief for everybody.", "saw"),
        ("asked", "what do you think of it?", "told"),
        ("thanks", "thank you", "told"),
    )
    for number, (item_id, text, how) in enumerate(spoken):
        at = f"2026-05-13T09:0{number}:00Z"
        said = RememberItem(item_id, text, kind="message", learned_via=how, happened_at=at)
        diary.engine.do(said)
    assert found(diary, "what did we talk about last week")[:2] == ["told", "answer"]


def test_whatever_changes_points_is_explained_in_words() -> None:
    assert {*ACT_WEIGHTS, "answered", "standing", "told"} <= BOOST_REASONS.keys()


def test_a_message_that_was_kept_as_a_memory_is_found_once(diary: Diary) -> None:
    said = "Remember that the spare key hangs in the shed."
    diary.engine.do(RememberItem("said", said, kind="message"))
    diary.engine.do(RememberItem("kept", "The spare key hangs in the shed."))
    diary.say("other", "A spare key costs nine euros.")
    asked = SearchQuery("spare key shed", limit=2, mode="text")
    assert found(diary, asked.text, limit=2) == ["kept", "other"]
    assert diary.keeper.why_not(USER, "said", asked).reason == "copy"
    assert found(diary, asked.text, only=Filter(kinds=("message",)))[0] == "said"


def test_what_is_closest_is_shown_once(diary: Diary) -> None:
    for name, kind in (("said", "message"), ("kept", "fact")):
        diary.engine.do(RememberItem(name, "The spare key hangs in the shed.", kind=kind))
    diary.keeper.embed_missing()
    answer = diary.keeper.recall(USER, SearchQuery("capital of Mongolia"))
    assert answer.hits == ()
    assert [hit.item.item_id for hit in answer.closest] == ["kept"]


def test_the_same_words_on_another_day_are_found_again(diary: Diary) -> None:
    for name, kind, day in (("said", "message", 3), ("kept", "fact", 1)):
        at = f"2026-05-0{day}T00:00:00Z"
        diary.engine.do(RememberItem(name, "The gate is locked.", kind=kind, happened_at=at))
    assert set(found(diary, "gate locked")) == {"said", "kept"}
