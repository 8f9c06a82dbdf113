"""The defects of the engine we learned from, each as a test that it is not ours.

Those of memory alone are tests there (`tests/memory/test_immunity.py`, `test_compress.py`).
"""

from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from tests.lessons.fixtures import AGENT, HELPER, SHORT, USER, LessonHarness

from everloop.errors import Forbidden
from everloop.lessons.crew.commands import ArchiveEntry, EnlistEntry, RemoveEntry
from everloop.lessons.crew.events import Skill
from everloop.lessons.feedback.turns import CandidateLesson, UserTurn
from everloop.lessons.model.commands import (
    DiscardLesson,
    ProposeLesson,
    ShowManifest,
    SupersedeLesson,
    WithdrawFeedback,
)
from everloop.lessons.model.lifecycle import Status
from everloop.log import Context
from everloop.memory.model.commands import DemoteItem, RememberItem
from everloop.memory.projections.citations import user_citers
from everloop.memory.summaries.compress import Compressor, Refusal
from everloop.memory.summaries.extractive import extractive_summariser
from everloop.testing.model import ScriptedModel

PACK = ProposeLesson(
    "", "Pin it", "Pin every version.", author="pack", pack_id="p", external_id="1"
)


def citers(harness: LessonHarness, item_id: str) -> list[str]:
    """The users' entries that cite a memory."""
    with harness.log.reading() as reader:
        return user_citers(reader, item_id)


def test_l118_using_a_lesson_does_not_reset_its_age(harness: LessonHarness) -> None:
    harness.ready()
    for number in range(5):
        harness.wait(1)
        harness.use(times=number)
        harness.thumb(up=True)
    assert harness.promote().passed
    seen = harness.lessons.find("user", "les-1")
    assert seen.created_at == seen.written_at < harness.stage.clock.now() - timedelta(hours=28)


def test_l119_promoting_discarding_and_superseding_twice_lose_nothing(
    harness: LessonHarness,
) -> None:
    harness.promoted()
    harness.promote()
    harness.propose(lesson_id="les-2")
    harness.propose(lesson_id="les-3")
    for _ in range(2):
        harness.lessons.discard(DiscardLesson("les-2"), by=AGENT)
        harness.lessons.supersede(SupersedeLesson("les-3", "les-1"), by=AGENT)
    page = harness.lessons.page("user", list(Status))
    assert {each.lesson_id: each.status for each in page.lessons} == {
        "les-1": Status.PROMOTED,
        "les-2": Status.DISCARDED,
        "les-3": Status.SUPERSEDED,
    }
    assert harness.kinds("les-2").count("lesson_discarded") == 1
    assert harness.kinds("les-3").count("lesson_superseded") == 1


def test_l120_a_discarded_lesson_cannot_be_promoted(harness: LessonHarness) -> None:
    harness.ready()
    harness.lessons.discard(DiscardLesson("les-1"), by=AGENT)
    promotion = harness.promote()
    assert (promotion.passed, promotion.reasons) == (False, ("already-discarded",))
    assert harness.status() is Status.DISCARDED


def test_l121_a_pending_lesson_can_be_activated_and_promoted(harness: LessonHarness) -> None:
    harness.ready()
    assert harness.lessons.activate("les-1", by=USER).status is Status.ACTIVE
    promotion = harness.promote()
    assert (promotion.passed, promotion.before) == (True, Status.ACTIVE)


def test_l122_being_shown_does_not_count_as_a_use(harness: LessonHarness) -> None:
    harness.propose()
    for number in range(5):
        harness.engine.do(ShowManifest(("les-1",), f"context-{number}"), by=AGENT)
    assert harness.lessons.find("user", "les-1").uses == 0
    assert "insufficient-applied-count: observed=0 < required=3" in harness.promote().reasons


def test_l123_blame_and_an_agents_own_praise_are_no_support_and_a_signal_counts_once(
    harness: LessonHarness,
) -> None:
    harness.propose()
    harness.thumb(up=True, by=AGENT, signal="self")
    harness.thumb(up=True, by=AGENT, signal="self")
    assert harness.lessons.find("user", "les-1").thumbs_up == 1
    assert "missing-external-signal-sources" in harness.codes()
    harness.thumb(up=False, by=USER, signal="no")
    assert {"missing-external-signal-sources", "thumbs-down-block"} <= set(harness.codes())


def test_l124_evidence_is_checked_and_makes_no_narrative_by_itself(harness: LessonHarness) -> None:
    harness.propose("mem-that-never-was")
    assert {"missing-causal-narrative", "cited-memory-not-found"} <= set(harness.codes())
    assert harness.lessons.find("user", "les-1").narrative is None


def test_l125_a_users_lesson_protects_its_memory_at_once(harness: LessonHarness) -> None:
    harness.remember(by=AGENT)
    harness.propose("mem-1", by=USER)
    assert citers(harness, "mem-1") == ["les-1"]


def test_l126_discarded_lessons_protect_no_memory(harness: LessonHarness) -> None:
    harness.remember(by=AGENT)
    harness.propose("mem-1", by=USER)
    harness.propose("mem-1", by=USER, lesson_id="les-2")
    harness.lessons.discard(DiscardLesson("les-1", force=True), by=USER)
    assert citers(harness, "mem-1") == ["les-2"]
    harness.lessons.discard(DiscardLesson("les-2", force=True), by=USER)
    assert citers(harness, "mem-1") == []


@pytest.mark.parametrize("letting_go", [ArchiveEntry, RemoveEntry])
def test_l127_a_skill_that_is_archived_or_removed_releases_its_memories(
    harness: LessonHarness, letting_go: type[ArchiveEntry | RemoveEntry]
) -> None:
    harness.remember("mem-1", by=AGENT)
    skill = Skill(description="Deploys.", body="Run it.")
    harness.engine.crew.enlist(EnlistEntry("skill", "deploy", skill, evidence=("mem-1",)), by=USER)
    assert citers(harness, "mem-1") == ["skill:deploy"]
    harness.engine.crew.change_status(letting_go("skill", "deploy", force=True), by=USER)
    assert citers(harness, "mem-1") == []


def test_l128_a_summary_has_the_narrowest_audience_of_its_sources(harness: LessonHarness) -> None:
    for name in ("mem-1", "mem-2"):
        harness.remember(name, scope="project:p", text=f"The build of {name} failed on Friday.")
    compressor = Compressor(harness.log, harness.engine, extractive_summariser())
    made = compressor.compress(("mem-1", "mem-2"), principal="user")
    assert not isinstance(made, Refusal)
    assert harness.engine.memory.find("user", made.summary_id).scope == "project:p"


def test_l129_discarding_a_lesson_after_compression_releases_the_summary_too(
    harness: LessonHarness,
) -> None:
    at = harness.remember(by=AGENT)
    harness.propose("mem-1", by=USER)
    summary = RememberItem("gist", "Stale.", derived_from=("mem-1",), because=(at,))
    gist = harness.engine.do(summary, by=Context(actor="engine")).position
    harness.engine.do(DemoteItem("mem-1", "gist", (gist,)), by=Context(actor="engine"))
    assert citers(harness, "gist") == ["les-1"]
    harness.lessons.discard(DiscardLesson("les-1", force=True), by=USER)
    assert (citers(harness, "mem-1"), citers(harness, "gist")) == ([], [])


def test_l130_installing_a_pack_again_keeps_counters_feedback_and_supersession(
    harness: LessonHarness,
) -> None:
    lesson = harness.propose(new=PACK, by=USER).lesson_id
    harness.use(lesson)
    harness.thumb(up=False, lesson_id=lesson, signal="x")
    newer = msgspec.structs.replace(PACK, body="Pin all versions.")
    again = harness.propose(new=newer, by=USER)
    seen = harness.lessons.find("user", lesson)
    assert (again.lesson_id, again.updated) == (lesson, True)
    assert (seen.uses, seen.thumbs_down, seen.body) == (3, 1, "Pin all versions.")
    harness.propose(lesson_id="les-2")
    harness.lessons.supersede(SupersedeLesson(lesson, "les-2", force=True), by=USER)
    assert harness.propose(new=PACK, by=USER).status is Status.SUPERSEDED


def test_l38_a_pack_does_not_restore_a_discarded_lesson(harness: LessonHarness) -> None:
    lesson = harness.propose(new=PACK, by=USER).lesson_id
    harness.lessons.discard(DiscardLesson(lesson, force=True), by=USER)
    newer = msgspec.structs.replace(PACK, body="Pin all versions.", seed_as_promoted=True)
    assert harness.propose(new=newer, by=USER).status is Status.DISCARDED


def test_l131_the_pretrigger_runs_first_and_most_turns_never_reach_a_model(
    harness: LessonHarness,
) -> None:
    harness.propose()
    model = ScriptedModel()
    listener = harness.engine.listener(model)
    shown = (CandidateLesson("les-1", "Clear the cache"),)
    for number in range(20):
        turn = UserTurn(f"t{number}", f"Please add a page about part {number}.", shown=shown)
        assert listener.detect(turn, by=AGENT).kind == "ignored"
    assert model.calls == []


def test_l132_a_lesson_and_its_links_are_written_all_or_nothing(harness: LessonHarness) -> None:
    harness.remember(by=AGENT)
    harness.propose("mem-1", by=USER)
    facts = list(harness.log.read("lesson:les-1"))
    assert len({fact.request_id for fact in facts}) == 1
    assert facts[1].because == (facts[1].because[0], facts[0].position)


def test_l133_tenants_share_nothing_and_ids_do_not_collide(tmp_path: Path) -> None:
    one, two = LessonHarness(tmp_path / "one"), LessonHarness(tmp_path / "two")
    ids = {one.lessons.propose(SHORT, by=AGENT).lesson_id for _ in range(20)}
    assert len(ids) == 20
    assert two.lessons.page("user").total == 0
    one.close()
    two.close()


def test_l136_and_l137_a_thumbs_down_ends_a_promotion_and_only_the_user_withdraws_it(
    harness: LessonHarness,
) -> None:
    harness.promoted()
    assert harness.thumb(up=False, by=HELPER, signal="x") is Status.ACTIVE
    with pytest.raises(Forbidden):
        harness.lessons.withdraw(WithdrawFeedback("les-1", "x"), by=HELPER)
    harness.lessons.withdraw(WithdrawFeedback("les-1", "x"), by=USER)
    assert harness.promote().passed
