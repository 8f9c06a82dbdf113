"""Promotion end to end: evidence, recorded decisions, demotion and retraction."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.lessons.fixtures import AGENT, ENGINE, HELPER, NARRATIVE, SHORT, USER, LessonHarness

from everloop.app import PROJECTIONS
from everloop.lessons.model.commands import (
    DemoteLesson,
    DiscardLesson,
    EditLesson,
    GiveFeedback,
    PromoteLesson,
    UseLesson,
    WithdrawFeedback,
)
from everloop.lessons.model.events import LessonPromoted, MemoryEvidence, PromotionRefused
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.settings import LessonSettings
from everloop.log import Context
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.memory.model.commands import RememberItem, ReviseItem
from everloop.settings import Settings


def test_a_lesson_with_outside_evidence_is_promoted_for_any_actor(harness: LessonHarness) -> None:
    harness.ready()
    promotion = harness.promote(by=AGENT)
    assert promotion.passed
    assert (promotion.before, promotion.status) == (Status.PENDING, Status.PROMOTED)
    assert promotion.cited == ("mem-of-les-1",)


def test_promoting_twice_changes_nothing(harness: LessonHarness) -> None:
    harness.promoted()
    head = harness.log.head
    again = harness.promote()
    assert (again.passed, again.before, again.cited) == (
        True, Status.PROMOTED, ("mem-of-les-1",)
    )  # fmt: skip
    assert harness.log.head == head


def test_a_refusal_is_recorded_once_until_its_reasons_change(harness: LessonHarness) -> None:
    harness.propose()
    first = harness.promote()
    harness.wait(1)
    second = harness.promote()
    harness.use()
    harness.promote()
    refusals = [
        fact.event.reasons
        for fact in harness.log.read("lesson:les-1")
        if isinstance(fact.event, PromotionRefused)
    ]
    assert refusals[0] == first.reasons
    assert len(refusals) == 2
    assert second.reasons[0] == "time-floor: age=3600s < required=86400s"
    assert "insufficient-applied-count: observed=0 < required=3" not in refusals[1]


def test_a_repeated_request_gets_the_recorded_decision_not_a_new_evaluation(
    harness: LessonHarness,
) -> None:
    harness.propose()
    first = harness.lessons.promote("les-1", by=AGENT, request_id="r1")
    harness.use()
    harness.wait(24)
    assert harness.lessons.promote("les-1", by=AGENT, request_id="r1") == first


def test_a_promotion_that_ended_since_is_still_the_answer_to_its_request(
    harness: LessonHarness,
) -> None:
    harness.ready()
    first = harness.lessons.promote("les-1", by=AGENT, request_id="r1")
    harness.thumb(up=False)
    assert harness.lessons.promote("les-1", by=AGENT, request_id="r1") == first
    assert (first.passed, first.before) == (True, Status.PENDING)


def test_the_answer_to_a_promotion_is_its_recorded_fact(harness: LessonHarness) -> None:
    harness.propose()
    refused = harness.promote()
    facts = [fact.event for fact in harness.log.read("lesson:les-1")]
    assert isinstance(facts[-1], PromotionRefused)
    assert (refused.passed, refused.reasons) == (False, facts[-1].reasons)


def test_the_thresholds_are_settings(tmp_path: Path) -> None:
    rules = LessonSettings(age_hours_min=0, uses_min=1, origins_min=1)
    harness = LessonHarness(tmp_path / "strict", Settings(lessons=rules))
    harness.remember()
    harness.propose("mem-1")
    harness.use(times=1)
    harness.narrate()
    harness.thumb(up=True)
    assert harness.promote().passed
    harness.close()


# -- whose word counts -----------------------------------------------------------------------------


def test_an_agents_praise_does_not_count_until_the_user_trusts_it(harness: LessonHarness) -> None:
    harness.remember()
    harness.propose("mem-1")
    harness.use()
    harness.narrate()
    harness.wait(24)
    harness.relay("That works well.", signal="before")
    assert harness.promote().reasons == ("missing-external-signal-sources",)
    harness.lessons.trust("b", by=USER)
    assert not harness.promote().passed
    harness.relay("That works well.", signal="after")
    assert harness.promote().passed


@pytest.mark.promise("P-LES-1")
@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("", "That works well."),
        ("Now do the next one.", "That works well."),
        ("That works well.", ""),
        ("That works well.", "w"),
        ("It works, thanks.", "works"),
    ],
)
def test_praise_that_a_trusted_host_invents_is_no_support(
    harness: LessonHarness, said: str, quoted: str
) -> None:
    harness.lessons.trust("b", by=USER)
    harness.ready()
    harness.lessons.withdraw(WithdrawFeedback("les-1", "praise"), by=USER)
    harness.hear(said)
    harness.lessons.feedback(GiveFeedback("les-1", True, "made-up", words=quoted), by=HELPER)
    assert harness.codes() == ["missing-external-signal-sources"]


def test_praise_counts_only_in_words_said_to_that_host_after_the_text_was_written(
    harness: LessonHarness,
) -> None:
    for host in ("a", "b"):
        harness.lessons.trust(host, by=USER)
    harness.hear("That works well.")
    harness.hear("This is exactly right.", by=AGENT)
    harness.ready()
    harness.lessons.withdraw(WithdrawFeedback("les-1", "praise"), by=USER)
    for words in ("That works well.", "This is exactly right."):
        harness.lessons.feedback(GiveFeedback("les-1", True, words, words=words), by=HELPER)
    assert harness.codes() == ["missing-external-signal-sources"]
    harness.relay("Perfect,  that\nworks now.")
    assert harness.codes() == []


@pytest.mark.promise("P-LES-1")
def test_a_host_promotes_one_lesson_a_day_that_the_user_did_not_look_at(
    harness: LessonHarness,
) -> None:
    harness.lessons.trust("b", by=USER)
    names = [f"les-{number}" for number in range(60)]
    for name in names:
        harness.remember(f"mem-of-{name}")
        harness.propose(f"mem-of-{name}", lesson_id=name)
        harness.use(name)
        harness.narrate(name)
        harness.relay(f"{name} works well.", lesson_id=name)
    harness.wait(24)
    assert [name for name in names if harness.promote(name).passed] == names[:1]
    assert harness.codes(names[1]) == ["missing-external-signal-sources"]
    harness.lessons.activate(names[9], by=USER)
    assert harness.promote(names[9]).passed
    harness.wait(24)
    assert [name for name in names[1:5] if harness.promote(name).passed] == names[1:2]


def test_at_a_terminal_the_user_cites_a_memory_of_the_same_session(
    harness: LessonHarness,
) -> None:
    at_terminal = Context(session="cli-1")
    harness.remember(by=at_terminal)
    harness.propose("mem-1", by=at_terminal)
    assert "cited-memory-own-session" not in harness.codes()
    harness.use()
    harness.narrate()
    harness.verdict(passed=True)
    harness.wait(24)
    assert harness.promote().passed


@pytest.mark.promise("P-LES-3")
def test_a_promotion_on_relayed_praise_ends_when_the_trust_is_revoked(
    harness: LessonHarness,
) -> None:
    harness.lessons.trust("b", by=USER)
    harness.ready()
    harness.lessons.withdraw(WithdrawFeedback("les-1", "praise"), by=USER)
    harness.relay("That works well.", signal="relayed")
    assert harness.promote().passed
    harness.promoted("les-2")
    harness.lessons.distrust("b", by=USER)
    assert (harness.status("les-1"), harness.status("les-2")) == (Status.PENDING, Status.PROMOTED)
    assert harness.codes() == ["missing-external-signal-sources"]
    harness.lessons.trust("b", by=USER)
    assert harness.status("les-1") is Status.PENDING
    assert harness.promote("les-1").passed


def test_the_users_praise_of_their_own_lesson_does_not_promote_it(harness: LessonHarness) -> None:
    harness.remember(by=HELPER)
    harness.propose("mem-1", by=USER)
    harness.use()
    harness.narrate()
    harness.thumb(up=True)
    harness.wait(24)
    assert harness.promote().reasons == ("missing-external-signal-sources",)
    harness.verdict(passed=True, by=ENGINE)
    assert harness.promote().passed


@pytest.mark.parametrize("claim", ["user", "pack"])
def test_claiming_to_be_a_user_or_a_pack_does_not_promote(
    harness: LessonHarness, claim: str
) -> None:
    harness.remember(by=AGENT)
    pack = "p" if claim == "pack" else ""
    harness.propose("mem-1", new=msgspec.structs.replace(SHORT, author=claim, pack_id=pack))
    assert "cited-memory-own-session" in harness.codes()


def test_a_verdict_of_the_agents_own_runner_is_a_claim(harness: LessonHarness) -> None:
    harness.propose()
    harness.verdict(passed=True, by=AGENT)
    assert "missing-external-signal-sources" in harness.codes()
    harness.verdict(passed=True, by=ENGINE)
    assert "missing-external-signal-sources" not in harness.codes()


# -- evidence --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "scope", "expected"),
    [
        (USER, "user", None),
        (USER, "global", None),
        (USER, "project:x", "cited-memory-not-found"),
        (AGENT, "user", "cited-memory-own-session"),
        (Context(actor="agent:a", session="s1/child"), "user", "cited-memory-own-session"),
        (Context(actor="agent:a"), "user", "cited-memory-own-session"),
        (Context(actor="agent:c", session="s1"), "user", "cited-memory-own-session"),
        (Context(actor="agent:a", session="s0"), "user", None),
        (HELPER, "user", None),
    ],
)
def test_a_memory_counts_only_if_another_session_recorded_it_in_scope(
    harness: LessonHarness, by: Context, scope: str, expected: str | None
) -> None:
    harness.remember(by=by, scope=scope)
    harness.propose("mem-1")
    found = [code for code in harness.codes() if "memory" in code]
    assert found == ([expected] if expected else [])


def test_the_session_that_a_host_claims_for_a_memory_does_not_matter(
    harness: LessonHarness,
) -> None:
    from_elsewhere = msgspec.structs.replace(
        RememberItem("mem-1", "The cache was stale."), origin=_origin("s0")
    )
    harness.engine.do(from_elsewhere, by=AGENT)
    harness.propose("mem-1")
    assert "cited-memory-own-session" in harness.codes()


def _origin(session: str) -> Any:
    return msgspec.structs.replace(RememberItem("x", "x").origin, session=session)


def test_a_summary_is_only_as_independent_as_all_its_sources(harness: LessonHarness) -> None:
    own = harness.remember("own", by=AGENT)
    other = harness.remember("other", by=HELPER)
    for name, sources, because in (("gist", ("own", "other"), (own, other)),):
        summary = RememberItem(name, "Caches go stale.", derived_from=sources, because=because)
        gist = harness.engine.do(summary, by=ENGINE).position
    top = RememberItem("top", "Stale caches.", derived_from=("gist",), because=(gist,))
    harness.engine.do(top, by=ENGINE)
    harness.propose("top")
    assert "cited-memory-own-session" in harness.codes()


def test_a_memory_that_the_author_edited_does_not_count(harness: LessonHarness) -> None:
    harness.remember(by=HELPER)
    harness.engine.do(ReviseItem("mem-1", text="The agent is always right."), by=AGENT)
    harness.propose("mem-1")
    assert "cited-memory-own-session" in harness.codes()


def test_a_memory_newer_than_the_lesson_does_not_count(harness: LessonHarness) -> None:
    harness.propose("mem-1")
    harness.remember()
    assert "cited-memory-not-older" in harness.codes()


def test_a_memory_cited_by_the_narrative_counts_too(harness: LessonHarness) -> None:
    harness.remember()
    harness.propose()
    assert "missing-memory-citation" in harness.codes()
    told = msgspec.structs.replace(NARRATIVE, evidence=(MemoryEvidence("mem-1"),))
    harness.lessons.narrate("les-1", by=AGENT, narrative=told)
    assert "missing-memory-citation" not in harness.codes()


def test_proposing_through_another_agent_does_not_make_evidence_independent(
    harness: LessonHarness,
) -> None:
    harness.remember(by=AGENT)
    harness.propose("mem-1")
    harness.lessons.edit(EditLesson("les-1", body="The same in other words."), by=HELPER)
    assert "cited-memory-own-session" in harness.codes()


# -- what takes it back ----------------------------------------------------------------------------


@pytest.mark.promise("P-LES-3")
def test_an_edit_voids_uses_praise_verdicts_and_narrative_and_resets_the_age(
    harness: LessonHarness,
) -> None:
    harness.promoted()
    harness.verdict(passed=True)
    harness.lessons.trust("a", by=USER)
    edited = harness.lessons.edit(EditLesson("les-1", body="Other words."), by=AGENT)
    assert (edited.status, edited.uses) == (Status.ACTIVE, 3)
    assert harness.codes() == [
        "time-floor",
        "insufficient-applied-count",
        "missing-external-signal-sources",
        "insufficient-origin-diversity",
        "missing-causal-narrative",
    ]


@pytest.mark.parametrize("by", [USER, AGENT, HELPER])
def test_a_thumbs_down_ends_a_promotion_in_the_same_append(
    harness: LessonHarness, by: Context
) -> None:
    harness.promoted()
    assert harness.thumb(up=False, by=by) is Status.ACTIVE
    assert harness.kinds()[-2:] == ["feedback_given", "lesson_demoted"]


def test_withdrawing_the_praise_it_depended_on_ends_a_promotion(harness: LessonHarness) -> None:
    harness.promoted()
    harness.thumb(up=True, signal="later")
    harness.lessons.withdraw(WithdrawFeedback("les-1", "later"), by=USER)
    assert harness.status() is Status.PROMOTED
    harness.lessons.withdraw(WithdrawFeedback("les-1", "praise"), by=USER)
    assert harness.status() is Status.ACTIVE


def test_a_failed_verdict_from_outside_ends_a_promotion_and_one_from_inside_does_not(
    harness: LessonHarness,
) -> None:
    harness.promoted()
    assert harness.verdict(passed=False, by=AGENT) is Status.PROMOTED
    assert harness.verdict(passed=False, digest="older words") is Status.PROMOTED
    assert harness.verdict(passed=False) is Status.ACTIVE


def test_the_user_and_the_engine_may_demote_and_nobody_else(harness: LessonHarness) -> None:
    harness.promoted()
    with pytest.raises(Exception, match="may not demote"):
        harness.engine.do(DemoteLesson("les-1", "x"), by=AGENT)
    harness.engine.do(DemoteLesson("les-1", "it is out of date"), by=USER)
    assert harness.lessons.find("user", "les-1").note == "it is out of date"
    assert harness.engine.do(DemoteLesson("les-1", "x"), by=ENGINE).facts == ()


def _grounds(harness: LessonHarness) -> dict[str, int]:
    """The first fact of each kind that the promotion depends on."""
    promoted = next(
        fact for fact in harness.log.read("lesson:les-1") if isinstance(fact.event, LessonPromoted)
    )
    kinds: dict[str, int] = {}
    for position in promoted.because:
        kinds.setdefault(harness.log.record(position).kind, position)
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
def test_retracting_a_ground_retracts_the_promotion_and_undoing_that_restores_it(
    harness: LessonHarness, kind: str
) -> None:
    harness.promoted()
    retraction = harness.log.retract([_grounds(harness)[kind]], reason="slip", actor="user")
    assert harness.status() is Status.PENDING
    assert harness.codes() != []
    harness.log.retract([retraction.position], reason="no slip", actor="user")
    assert harness.status() is Status.PROMOTED


def test_retracting_the_proposal_retracts_everything(harness: LessonHarness) -> None:
    proposed = harness.promoted()
    harness.log.retract([proposed.position], reason="slip", actor="user")
    assert harness.lessons.page("user").total == 0
    assert harness.lessons.recall("user", "cache") == []


def test_editing_a_cited_memory_ends_the_promotion(harness: LessonHarness) -> None:
    harness.promoted()
    harness.engine.do(ReviseItem("mem-of-les-1", text="It was something else."))
    assert harness.status() is Status.PENDING


def test_retracting_a_thumbs_down_restores_the_promotion(harness: LessonHarness) -> None:
    harness.promoted()
    harness.thumb(up=False)
    blame = harness.log.head - 1
    harness.log.retract([blame], reason="slip", actor="user")
    assert harness.status() is Status.PROMOTED


def _detour_by_memory(harness: LessonHarness) -> None:
    slip = harness.remember("slip")
    harness.propose("slip", lesson_id="les-9")
    harness.log.retract([slip, harness.log.head - 1], reason="slip", actor="user")


def _detour_by_branch(harness: LessonHarness) -> None:
    head = harness.log.head
    harness.thumb(up=False)
    harness.lessons.discard(DiscardLesson("les-1"), by=USER)
    harness.log.rewind(head, actor="user")


def _detour_by_edit(harness: LessonHarness) -> None:
    harness.lessons.edit(EditLesson("les-1", body="Slip."), by=USER)
    edit = next(
        fact.position
        for fact in harness.log.read("lesson:les-1")
        if fact.event.wire == "lessons.lesson_edited"
    )
    harness.log.retract([edit], reason="slip", actor="user")


@pytest.mark.parametrize("detour", [_detour_by_memory, _detour_by_branch, _detour_by_edit])
def test_after_a_retraction_everything_is_as_if_it_never_happened(
    tmp_path: Path, detour: Callable[[LessonHarness], None]
) -> None:
    lived, pure = LessonHarness(tmp_path / "lived"), LessonHarness(tmp_path / "pure")
    for harness in (lived, pure):
        harness.promoted()
    detour(lived)
    assert _known(lived) == _known(pure)
    for harness in (lived, pure):
        harness.close()


def _known(harness: LessonHarness) -> list[Any]:
    """All that can be known of lessons, positions aside."""
    page = harness.lessons.page("user", limit=100)
    recalled = harness.lessons.recall("user", "cache build slip")
    standings = [harness.codes(lesson.lesson_id) for lesson in page.lessons]
    lessons = [msgspec.structs.replace(lesson, position=0) for lesson in page.lessons]
    hits = [(hit.lesson.lesson_id, hit.similarity) for hit in recalled]
    return [lessons, hits, standings]


# -- branches, replay, races -----------------------------------------------------------------------


def test_a_promotion_on_a_branch_does_not_count_elsewhere(harness: LessonHarness) -> None:
    harness.ready()
    harness.log.fork(name="other", actor="user")
    harness.engine.do(PromoteLesson("les-1"), by=AGENT, branch="other")
    assert harness.status() is Status.PENDING
    harness.log.switch_branch("other", actor="user")
    assert harness.status() is Status.PROMOTED


def test_trust_given_on_a_branch_does_not_count_elsewhere(harness: LessonHarness) -> None:
    head = harness.log.head
    harness.lessons.trust("a", by=USER)
    harness.log.rewind(head, actor="user")
    assert harness.lessons.hosts() == []


@pytest.mark.parametrize(
    "view", [view.name for view in PROJECTIONS if view.name.startswith("lesson")]
)
def test_every_view_of_lessons_rebuilt_equals_the_live_one(
    harness: LessonHarness, view: str
) -> None:
    harness.promoted()
    harness.promoted("les-2")
    harness.thumb(up=False, signal="x")
    harness.lessons.withdraw(WithdrawFeedback("les-1", "x"), by=USER)
    harness.verdict(passed=False, lesson_id="les-2")
    harness.lessons.trust("a", by=USER)
    harness.lessons.edit(EditLesson("les-2", body="Other words."), by=AGENT)
    slip = harness.propose(lesson_id="les-3")
    harness.log.purge([slip.position], reason="privacy", actor="user")
    live = _dumped(harness, view)
    rebuild_projections(harness.log, [view])
    assert _dumped(harness, view) == live


def _dumped(harness: LessonHarness, name: str) -> list[Any]:
    with harness.log.file.reading() as reader:
        view = next(known for known in harness.log.file.views.all if known.name == name)
        return list(view.dump(reader.db))


def test_a_purged_lesson_leaves_no_text_behind(harness: LessonHarness) -> None:
    new = msgspec.structs.replace(SHORT, body="The secret is xyzzy.")
    proposed = harness.propose(new=new)
    harness.log.purge([proposed.position], reason="privacy", actor="user")
    for view in ("lesson_shelf", "lesson_words"):
        assert "xyzzy" not in repr(_dumped(harness, view))


@pytest.mark.promise("P-LES-3")
def test_a_thumbs_down_that_races_a_promotion_always_wins(tmp_path: Path) -> None:
    for number in range(8):
        harness = LessonHarness(tmp_path / str(number))
        harness.ready()
        barrier = threading.Barrier(2)

        def blame(harness: LessonHarness = harness, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            harness.thumb(up=False, by=HELPER, signal="race")

        thread = threading.Thread(target=blame)
        thread.start()
        barrier.wait()
        harness.promote()
        thread.join()
        assert harness.status() is not Status.PROMOTED
        assert not harness.promote().passed
        harness.close()


def test_using_a_discarded_lesson_is_refused(harness: LessonHarness) -> None:
    harness.propose()
    harness.lessons.discard(DiscardLesson("les-1"), by=AGENT)
    with pytest.raises(Exception, match="cannot use 'les-1': it was discarded"):
        harness.lessons.use(UseLesson("les-1"), by=AGENT)
