"""Narratives, by hand or by a model: validation, quotes and refusals."""

from typing import Any

import msgspec
import pytest
from tests.lessons.fixtures import AGENT, NARRATIVE, SHORT, USER, LessonHarness

from everloop.completion import Declined
from everloop.errors import Conflict, Invalid, ModelFailed, Unavailable
from everloop.lessons.model.commands import DiscardLesson
from everloop.lessons.model.events import LessonNarrated, MemoryEvidence, Narrative, QuoteEvidence
from everloop.lessons.model.narrative import check_narrative, narrative_error
from everloop.lessons.service import LessonService
from everloop.memory.model.commands import GrantAudience
from everloop.testing.model import ScriptedModel

ANSWER: dict[str, Any] = {
    "trigger": "A build.",
    "failure_mode": "The cache was stale.",
    "correction": "It was cleared.",
    "confidence": "observed",
    "evidence": ["the cache was stale"],
}


@pytest.mark.parametrize(
    ("failure", "refused"),
    [
        ("Potential: the build may fail.", True),
        ("The cache could become stale, which might break builds.", True),
        ("The build failed because the cache could not be read.", False),
        ("The build failed. It may have been stale for days.", False),
        ("In May the cache was stale.", False),
    ],
)
def test_a_narrative_marked_observed_that_only_speculates_is_refused(
    failure: str, refused: bool
) -> None:
    observed = but(failure_mode=failure, confidence="observed", evidence=(QuoteEvidence("x"),))
    assert bool(narrative_error(observed)) is refused
    assert not narrative_error(but(failure_mode=failure, confidence="inferred"))


def but(**changes: Any) -> Narrative:
    """A good narrative, but for these."""
    return msgspec.structs.replace(NARRATIVE, **changes)


def taught(harness: LessonHarness, model: ScriptedModel) -> LessonService:
    """A lesson service that uses this model."""
    ports = harness.stage.ports
    settings = harness.lessons.settings
    return LessonService(
        harness.log, harness.engine, ports.clock, ports.ids, settings, lambda: model
    )


def says(**changes: Any) -> str:
    """The model's good answer, but for these, as JSON."""
    return msgspec.json.encode({**ANSWER, **changes}).decode()


@pytest.mark.parametrize(
    "narrative",
    [
        but(trigger="x" * 140, failure_mode="x" * 200, correction="x" * 200),
        but(confidence="observed", evidence=(QuoteEvidence("x" * 80),)),
        but(confidence="observed", evidence=(MemoryEvidence("mem-1"),)),
        but(confidence="speculative", failure_mode="Potential: a stale cache."),
        but(confidence="inferred"),
    ],
)
def test_a_narrative_within_its_limits_is_valid(narrative: Narrative) -> None:
    check_narrative(narrative)


@pytest.mark.parametrize(
    ("narrative", "fault"),
    [
        (but(trigger="x" * 141), "trigger has 141 characters, and at most 140 are allowed"),
        (but(failure_mode="x" * 201), "failure_mode has 201"),
        (but(correction="x" * 201), "correction has 201"),
        (but(trigger=" "), "trigger is empty"),
        (but(evidence=(QuoteEvidence("x" * 81),)), "a quote has at most 80 characters"),
        (but(evidence=(QuoteEvidence(" "),)), "a quote is empty"),
        (but(confidence="certain"), "confidence 'certain' is none of"),
        (but(confidence="observed"), "what was observed needs evidence"),
        (but(confidence="speculative"), "begins with 'Potential:'"),
    ],
)
def test_a_narrative_beyond_its_limits_is_invalid(narrative: Narrative, fault: str) -> None:
    assert fault in narrative_error(narrative)
    with pytest.raises(Invalid):
        check_narrative(narrative)


def test_a_quote_in_a_narrative_counts_only_if_a_memory_contains_it(harness: LessonHarness) -> None:
    harness.remember()
    harness.propose()
    for quote, codes in (
        ("nobody said this", ["observed-confidence-without-evidence-refs"]),
        ("the cache was stale", []),
    ):
        told = but(confidence="observed", evidence=(QuoteEvidence(quote),))
        harness.lessons.narrate("les-1", by=AGENT, narrative=told)
        assert [code for code in harness.codes() if "confidence" in code] == codes


def test_a_discarded_lesson_cannot_be_narrated(harness: LessonHarness) -> None:
    harness.propose()
    harness.lessons.discard(DiscardLesson("les-1"), by=AGENT)
    with pytest.raises(Conflict, match="cannot narrate"):
        harness.narrate()


# -- by a model ------------------------------------------------------------------------------------


def test_a_model_writes_a_narrative_from_the_lesson_and_its_memories(
    harness: LessonHarness,
) -> None:
    harness.remember()
    harness.propose("mem-1")
    model = ScriptedModel([says()])
    taught(harness, model).narrate("les-1", by=AGENT)
    prompt, params = model.calls[0]
    assert (params.temperature, params.tokens_max) == (0.0, 1_024)
    assert "failed because the cache was stale" in str(prompt.messages)
    narrated = [fact.event for fact in harness.log.read("lesson:les-1")][-1]
    assert isinstance(narrated, LessonNarrated)
    assert narrated.model == "scripted"
    assert narrated.narrative.evidence == (QuoteEvidence("the cache was stale", "mem-1"),)


@pytest.mark.parametrize(
    "answer", ['{"error": "no failure is shown"}', says(error="no failure is shown")]
)
def test_a_refusal_is_recorded_as_such_even_if_it_looks_like_an_answer(
    harness: LessonHarness, answer: str
) -> None:
    harness.propose()
    told = taught(harness, ScriptedModel([answer])).narrate("les-1", by=AGENT)
    assert told == Declined("no failure is shown")
    assert harness.kinds() == ["lesson_proposed", "narrative_refused"]
    assert "missing-causal-narrative" in harness.codes()


def test_an_invalid_answer_is_reported_to_the_model_and_retried(harness: LessonHarness) -> None:
    harness.propose()
    model = ScriptedModel([says(trigger="x" * 141), says(confidence="inferred", evidence=[])])
    taught(harness, model).narrate("les-1", by=AGENT)
    assert "141 characters" in str(model.calls[1][0].messages[-1])
    assert harness.kinds()[-1] == "lesson_narrated"


def test_only_unusable_answers_fail_and_record_nothing(harness: LessonHarness) -> None:
    harness.propose()
    model = ScriptedModel(["hm", says(confidence="observed", evidence=[]), says(trigger="")])
    with pytest.raises(ModelFailed):
        taught(harness, model).narrate("les-1", by=AGENT)
    assert harness.kinds() == ["lesson_proposed"]


def test_a_model_cannot_cite_a_memory(harness: LessonHarness) -> None:
    harness.remember()
    harness.propose()
    taught(harness, ScriptedModel([says(evidence=["mem-1"])])).narrate("les-1", by=AGENT)
    assert "missing-memory-citation" in harness.codes()


def test_the_model_does_not_get_memories_that_the_asker_may_not_see(harness: LessonHarness) -> None:
    harness.remember("mem-1", text="The launch code is 0000.", scope="project:x")
    harness.propose("mem-1", by=USER, new=msgspec.structs.replace(SHORT, scope="user"))
    from_outside = msgspec.structs.replace(AGENT, actor="agent:c")
    harness.engine.do(GrantAudience("agent:c", ("user",)))
    model = ScriptedModel([says(confidence="inferred", evidence=[])])
    taught(harness, model).narrate("les-1", by=from_outside)
    assert "0000" not in str(model.calls)


def test_narrating_without_a_model_is_unavailable(harness: LessonHarness) -> None:
    harness.propose()
    ports, settings = harness.stage.ports, harness.lessons.settings
    alone = LessonService(harness.log, harness.engine, ports.clock, ports.ids, settings)
    quoting = taught(harness, ScriptedModel(name="offline"))
    for lessons in (alone, quoting):
        with pytest.raises(Unavailable, match="no model is set up"):
            lessons.narrate("les-1", by=AGENT)
