"""Promotion from end to end: what the gate is told, what is recorded, and what takes it back."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.lessons.fixtures import AGENT, ENGINE, HELPER, NARRATIVE, SHORT, USER, Classroom

from everloop.app import PROJECTIONS
from everloop.lessons.model.commands import (
    DemoteLesson,
    DiscardLesson,
    EditLesson,
    PromoteLesson,
    UseLesson,
    WithdrawFeedback,
)
from everloop.lessons.model.events import LessonPromoted, MemoryEvidence, PromotionRefused
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.settings import LessonSettings
from everloop.log import Context
from everloop.log.integrity.rebuild import rebuild
from everloop.memory.model.commands import RememberItem, ReviseItem
from everloop.settings import Settings


def test_a_lesson_with_outside_evidence_is_promoted_whoever_asks(room: Classroom) -> None:
    room.ready()
    promotion = room.promote(by=AGENT)
    assert promotion.passed
    assert (promotion.before, promotion.status) == (Status.PENDING, Status.PROMOTED)
    assert promotion.cited == ("mem-of-les-1",)


def test_promoting_twice_changes_nothing(room: Classroom) -> None:
    room.promoted()
    head = room.log.head
    again = room.promote()
    assert (again.passed, again.before, again.cited) == (
        True, Status.PROMOTED, ("mem-of-les-1",)
    )  # fmt: skip
    assert room.log.head == head


def test_a_refusal_is_recorded_once_until_its_reasons_change(room: Classroom) -> None:
    room.propose()
    first = room.promote()
    room.wait(1)
    second = room.promote()
    room.use()
    room.promote()
    refusals = [
        fact.event.reasons
        for fact in room.log.read("lesson:les-1")
        if isinstance(fact.event, PromotionRefused)
    ]
    assert refusals[0] == first.reasons
    assert len(refusals) == 2
    assert second.reasons[0] == "time-floor: age=3600s < required=86400s"
    assert "insufficient-applied-count: observed=0 < required=3" not in refusals[1]


def test_a_repeated_request_gets_the_recorded_decision_not_a_new_evaluation(
    room: Classroom,
) -> None:
    room.propose()
    first = room.teacher.promote("les-1", by=AGENT, request_id="r1")
    room.use()
    room.wait(24)
    assert room.teacher.promote("les-1", by=AGENT, request_id="r1") == first


def test_a_promotion_that_ended_since_is_still_the_answer_to_its_request(room: Classroom) -> None:
    room.ready()
    first = room.teacher.promote("les-1", by=AGENT, request_id="r1")
    room.thumb(up=False)
    assert room.teacher.promote("les-1", by=AGENT, request_id="r1") == first
    assert (first.passed, first.before) == (True, Status.PENDING)


def test_the_answer_to_a_promotion_is_its_recorded_fact(room: Classroom) -> None:
    room.propose()
    refused = room.promote()
    facts = [fact.event for fact in room.log.read("lesson:les-1")]
    assert isinstance(facts[-1], PromotionRefused)
    assert (refused.passed, refused.reasons) == (False, facts[-1].reasons)


def test_the_thresholds_are_settings(tmp_path: Path) -> None:
    rules = LessonSettings(age_hours_min=0, uses_min=1, origins_min=1)
    room = Classroom(tmp_path / "strict", Settings(lessons=rules))
    room.remember()
    room.propose("mem-1")
    room.use(times=1)
    room.narrate()
    room.thumb(up=True)
    assert room.promote().passed
    room.close()


# -- whose word counts -----------------------------------------------------------------------------


def test_an_agents_praise_counts_for_nothing_until_the_user_trusts_it(room: Classroom) -> None:
    room.remember()
    room.propose("mem-1")
    room.use()
    room.narrate()
    room.wait(24)
    room.thumb(up=True, by=HELPER, signal="relayed")
    assert room.promote().reasons == ("missing-external-signal-sources",)
    room.teacher.trust("b", by=USER)
    assert room.promote().passed


@pytest.mark.promise("P-LES-3")
def test_a_lesson_promoted_on_a_hosts_word_goes_back_when_it_is_trusted_no_more(
    room: Classroom,
) -> None:
    room.teacher.trust("b", by=USER)
    room.ready()
    room.teacher.withdraw(WithdrawFeedback("les-1", "praise"), by=USER)
    room.thumb(up=True, by=HELPER, signal="relayed")
    assert room.promote().passed
    room.promoted("les-2")
    room.teacher.distrust("b", by=USER)
    assert (room.status("les-1"), room.status("les-2")) == (Status.PENDING, Status.PROMOTED)
    assert room.codes() == ["missing-external-signal-sources"]
    room.teacher.trust("b", by=USER)
    assert room.status("les-1") is Status.PENDING
    assert room.promote("les-1").passed


def test_the_user_cannot_praise_their_own_lesson_through_the_gate(room: Classroom) -> None:
    room.remember(by=HELPER)
    room.propose("mem-1", by=USER)
    room.use()
    room.narrate()
    room.thumb(up=True)
    room.wait(24)
    assert room.promote().reasons == ("missing-external-signal-sources",)
    room.verdict(passed=True, by=ENGINE)
    assert room.promote().passed


@pytest.mark.parametrize("claim", ["user", "pack"])
def test_claiming_to_speak_for_a_user_or_a_pack_opens_nothing(room: Classroom, claim: str) -> None:
    room.remember(by=AGENT)
    pack = "p" if claim == "pack" else ""
    room.propose("mem-1", new=msgspec.structs.replace(SHORT, author=claim, pack_id=pack))
    assert "cited-memory-own-session" in room.codes()


def test_a_verdict_of_the_agents_own_runner_is_a_claim(room: Classroom) -> None:
    room.propose()
    room.verdict(passed=True, by=AGENT)
    assert "missing-external-signal-sources" in room.codes()
    room.verdict(passed=True, by=ENGINE)
    assert "missing-external-signal-sources" not in room.codes()


# -- evidence --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "scope", "expected"),
    [
        (USER, "user", None),
        (USER, "global", None),
        (USER, "project:x", "cited-memory-out-of-scope"),
        (AGENT, "user", "cited-memory-own-session"),
        (Context(actor="agent:a", session="s1/child"), "user", "cited-memory-own-session"),
        (Context(actor="agent:a"), "user", "cited-memory-own-session"),
        (Context(actor="agent:c", session="s1"), "user", "cited-memory-own-session"),
        (Context(actor="agent:a", session="s0"), "user", None),
        (HELPER, "user", None),
    ],
)
def test_a_memory_carries_only_if_another_run_recorded_it_in_scope(
    room: Classroom, by: Context, scope: str, expected: str | None
) -> None:
    room.remember(by=by, scope=scope)
    room.propose("mem-1")
    found = [code for code in room.codes() if "memory" in code]
    assert found == ([expected] if expected else [])


def test_the_session_that_a_host_claims_for_a_memory_does_not_matter(room: Classroom) -> None:
    from_elsewhere = msgspec.structs.replace(
        RememberItem("mem-1", "The cache was stale."), origin=_origin("s0")
    )
    room.engine.do(from_elsewhere, by=AGENT)
    room.propose("mem-1")
    assert "cited-memory-own-session" in room.codes()


def _origin(session: str) -> Any:
    return msgspec.structs.replace(RememberItem("x", "x").origin, session=session)


def test_a_summary_is_trusted_no_more_than_the_least_of_its_sources(room: Classroom) -> None:
    own = room.remember("own", by=AGENT)
    other = room.remember("other", by=HELPER)
    for name, sources, because in (("gist", ("own", "other"), (own, other)),):
        summary = RememberItem(name, "Caches go stale.", derived_from=sources, because=because)
        gist = room.engine.do(summary, by=ENGINE).position
    top = RememberItem("top", "Stale caches.", derived_from=("gist",), because=(gist,))
    room.engine.do(top, by=ENGINE)
    room.propose("top")
    assert "cited-memory-own-session" in room.codes()


def test_a_memory_that_the_author_reworded_is_the_authors_own(room: Classroom) -> None:
    room.remember(by=HELPER)
    room.engine.do(ReviseItem("mem-1", text="The agent is always right."), by=AGENT)
    room.propose("mem-1")
    assert "cited-memory-own-session" in room.codes()


def test_a_memory_that_came_after_the_lesson_carries_nothing(room: Classroom) -> None:
    room.propose("mem-1")
    room.remember()
    assert "cited-memory-not-older" in room.codes()


def test_a_memory_of_the_narrative_carries_as_well(room: Classroom) -> None:
    room.remember()
    room.propose()
    assert "missing-memory-citation" in room.codes()
    told = msgspec.structs.replace(NARRATIVE, evidence=(MemoryEvidence("mem-1"),))
    room.teacher.narrate("les-1", by=AGENT, narrative=told)
    assert "missing-memory-citation" not in room.codes()


def test_handing_a_lesson_to_another_agent_does_not_wash_its_evidence(room: Classroom) -> None:
    room.remember(by=AGENT)
    room.propose("mem-1")
    room.teacher.edit(EditLesson("les-1", body="The same in other words."), by=HELPER)
    assert "cited-memory-own-session" in room.codes()


# -- what takes it back ----------------------------------------------------------------------------


@pytest.mark.promise("P-LES-3")
def test_an_edit_voids_uses_praise_verdicts_and_narrative_and_starts_the_age_anew(
    room: Classroom,
) -> None:
    room.promoted()
    room.verdict(passed=True)
    room.teacher.trust("a", by=USER)
    edited = room.teacher.edit(EditLesson("les-1", body="Other words."), by=AGENT)
    assert (edited.status, edited.uses) == (Status.ACTIVE, 3)
    assert room.codes() == [
        "time-floor",
        "insufficient-applied-count",
        "missing-external-signal-sources",
        "insufficient-origin-diversity",
        "missing-causal-narrative",
    ]


@pytest.mark.parametrize("by", [USER, AGENT, HELPER])
def test_a_thumbs_down_ends_a_promotion_in_the_same_append(room: Classroom, by: Context) -> None:
    room.promoted()
    assert room.thumb(up=False, by=by) is Status.ACTIVE
    assert room.kinds()[-2:] == ["feedback_given", "lesson_demoted"]


def test_withdrawing_the_praise_it_stood_on_ends_a_promotion(room: Classroom) -> None:
    room.promoted()
    room.thumb(up=True, signal="later")
    room.teacher.withdraw(WithdrawFeedback("les-1", "later"), by=USER)
    assert room.status() is Status.PROMOTED
    room.teacher.withdraw(WithdrawFeedback("les-1", "praise"), by=USER)
    assert room.status() is Status.ACTIVE


def test_a_failed_verdict_from_outside_ends_a_promotion_and_one_from_inside_does_not(
    room: Classroom,
) -> None:
    room.promoted()
    assert room.verdict(passed=False, by=AGENT) is Status.PROMOTED
    assert room.verdict(passed=False, digest="older words") is Status.PROMOTED
    assert room.verdict(passed=False) is Status.ACTIVE


def test_the_user_and_the_engine_may_demote_and_nobody_else(room: Classroom) -> None:
    room.promoted()
    with pytest.raises(Exception, match="may not demote"):
        room.engine.do(DemoteLesson("les-1", "x"), by=AGENT)
    room.engine.do(DemoteLesson("les-1", "it is out of date"), by=USER)
    assert room.teacher.find("user", "les-1").note == "it is out of date"
    assert room.engine.do(DemoteLesson("les-1", "x"), by=ENGINE).facts == ()


def _grounds(room: Classroom) -> dict[str, int]:
    """Each fact that the promotion stands on, by its kind; the first of each."""
    promoted = next(
        fact for fact in room.log.read("lesson:les-1") if isinstance(fact.event, LessonPromoted)
    )
    kinds: dict[str, int] = {}
    for position in promoted.because:
        kinds.setdefault(room.log.record(position).kind, position)
    return kinds


@pytest.mark.promise("P-LES-3")
@pytest.mark.parametrize(
    "kind",
    [
        "memory.remembered",
        "lessons.feedback_given",
        "lessons.lesson_narrated",
        "lessons.lesson_used",
    ],
)
def test_retracting_what_a_promotion_stood_on_takes_it_back_and_undoing_that_restores_it(
    room: Classroom, kind: str
) -> None:
    room.promoted()
    retraction = room.log.retract([_grounds(room)[kind]], reason="slip", actor="user")
    assert room.status() is Status.PENDING
    assert room.codes() != []
    room.log.retract([retraction.position], reason="no slip", actor="user")
    assert room.status() is Status.PROMOTED


def test_retracting_the_proposal_takes_everything_with_it(room: Classroom) -> None:
    proposed = room.promoted()
    room.log.retract([proposed.position], reason="slip", actor="user")
    assert room.teacher.page("user").total == 0
    assert room.teacher.recall("user", "cache") == []


def test_a_cited_memory_that_is_reworded_must_be_judged_again(room: Classroom) -> None:
    room.promoted()
    room.engine.do(ReviseItem("mem-of-les-1", text="It was something else."))
    assert room.status() is Status.PENDING


def test_retracting_a_thumbs_down_restores_the_promotion(room: Classroom) -> None:
    room.promoted()
    room.thumb(up=False)
    blame = room.log.head - 1
    room.log.retract([blame], reason="slip", actor="user")
    assert room.status() is Status.PROMOTED


def _detour_by_memory(room: Classroom) -> None:
    slip = room.remember("slip")
    room.propose("slip", lesson_id="les-9")
    room.log.retract([slip, room.log.head - 1], reason="slip", actor="user")


def _detour_by_branch(room: Classroom) -> None:
    head = room.log.head
    room.thumb(up=False)
    room.teacher.discard(DiscardLesson("les-1"), by=AGENT)
    room.log.rewind(head, actor="user")


def _detour_by_edit(room: Classroom) -> None:
    room.teacher.edit(EditLesson("les-1", body="Slip."), by=USER)
    edit = next(
        fact.position
        for fact in room.log.read("lesson:les-1")
        if fact.event.wire == "lessons.lesson_edited"
    )
    room.log.retract([edit], reason="slip", actor="user")


@pytest.mark.parametrize("detour", [_detour_by_memory, _detour_by_branch, _detour_by_edit])
def test_after_taking_back_everything_is_as_if_it_had_never_happened(
    tmp_path: Path, detour: Callable[[Classroom], None]
) -> None:
    lived, pure = Classroom(tmp_path / "lived"), Classroom(tmp_path / "pure")
    for room in (lived, pure):
        room.promoted()
    detour(lived)
    assert _known(lived) == _known(pure)
    for room in (lived, pure):
        room.close()


def _known(room: Classroom) -> list[Any]:
    """All that can be known of lessons, positions aside."""
    page = room.teacher.page("user", limit=100)
    recalled = room.teacher.recall("user", "cache build slip")
    standings = [room.codes(lesson.lesson_id) for lesson in page.lessons]
    lessons = [msgspec.structs.replace(lesson, position=0) for lesson in page.lessons]
    hits = [(hit.lesson.lesson_id, hit.similarity) for hit in recalled]
    return [lessons, hits, standings]


# -- branches, replay, races -----------------------------------------------------------------------


def test_what_is_promoted_on_a_branch_is_not_promoted_elsewhere(room: Classroom) -> None:
    room.ready()
    room.log.fork(name="other", actor="user")
    room.engine.do(PromoteLesson("les-1"), by=AGENT, branch="other")
    assert room.status() is Status.PENDING
    room.log.stand("other", actor="user")
    assert room.status() is Status.PROMOTED


def test_trust_given_on_a_branch_does_not_count_elsewhere(room: Classroom) -> None:
    head = room.log.head
    room.teacher.trust("a", by=USER)
    room.log.rewind(head, actor="user")
    assert room.teacher.hosts() == []


@pytest.mark.parametrize(
    "view", [view.name for view in PROJECTIONS if view.name.startswith("lesson")]
)
def test_every_view_of_lessons_rebuilt_equals_the_live_one(room: Classroom, view: str) -> None:
    room.promoted()
    room.promoted("les-2")
    room.thumb(up=False, signal="x")
    room.teacher.withdraw(WithdrawFeedback("les-1", "x"), by=USER)
    room.verdict(passed=False, lesson_id="les-2")
    room.teacher.trust("a", by=USER)
    room.teacher.edit(EditLesson("les-2", body="Other words."), by=AGENT)
    slip = room.propose(lesson_id="les-3")
    room.log.purge([slip.position], reason="privacy", actor="user")
    live = _dumped(room, view)
    rebuild(room.log, [view])
    assert _dumped(room, view) == live


def _dumped(room: Classroom, name: str) -> list[Any]:
    with room.log.file.reading() as reader:
        view = next(known for known in room.log.file.views.all if known.name == name)
        return list(view.dump(reader.db))


def test_a_purged_lesson_leaves_no_word_behind(room: Classroom) -> None:
    new = msgspec.structs.replace(SHORT, body="The secret is xyzzy.")
    proposed = room.propose(new=new)
    room.log.purge([proposed.position], reason="privacy", actor="user")
    for view in ("lesson_shelf", "lesson_words"):
        assert "xyzzy" not in repr(_dumped(room, view))


@pytest.mark.promise("P-LES-3")
def test_a_thumbs_down_that_races_a_promotion_always_wins(tmp_path: Path) -> None:
    for number in range(8):
        room = Classroom(tmp_path / str(number))
        room.ready()
        barrier = threading.Barrier(2)

        def blame(room: Classroom = room, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            room.thumb(up=False, by=HELPER, signal="race")

        thread = threading.Thread(target=blame)
        thread.start()
        barrier.wait()
        room.promote()
        thread.join()
        assert room.status() is not Status.PROMOTED
        assert not room.promote().passed
        room.close()


def test_using_a_lesson_that_was_let_go_is_refused(room: Classroom) -> None:
    room.propose()
    room.teacher.discard(DiscardLesson("les-1"), by=AGENT)
    with pytest.raises(Exception, match="cannot use 'les-1': it was discarded"):
        room.teacher.use(UseLesson("les-1"), by=AGENT)
