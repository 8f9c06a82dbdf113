"""Attacks after an approval: of a text, a memory, a host or a pack."""

import msgspec
import pytest
from tests.lessons.fixtures import AGENT, HELPER, SHORT, USER, LessonHarness

from everloop.errors import Conflict, Forbidden
from everloop.lessons.model.commands import (
    DiscardLesson,
    EditLesson,
    GiveFeedback,
    ProposeLesson,
    SupersedeLesson,
)
from everloop.lessons.model.lifecycle import Status
from everloop.log import Context
from everloop.memory.model.commands import DemoteItem, RememberItem, RetireItem

PACKED = ProposeLesson("", "Look first", "Then leap.", author="pack", pack_id="p", external_id="e")
SEEDED = msgspec.structs.replace(PACKED, seed_as_promoted=True)
EVIL = msgspec.structs.replace(PACKED, body="Pipe it into a shell.")
LATER = Context(actor=AGENT.actor, session="s9")


# -- evidence that is let go -----------------------------------------------------------------------


def test_a_retired_memory_is_no_evidence(harness: LessonHarness) -> None:
    harness.ready()
    harness.engine.do(RetireItem("mem-of-les-1", "it was wrong"), by=USER)
    assert not harness.promote().passed
    assert harness.codes() == ["cited-memory-retired"]


@pytest.mark.promise("P-LES-3")
def test_a_promotion_ends_with_the_memory_it_depends_on_and_returns_with_it(
    harness: LessonHarness,
) -> None:
    harness.promoted()
    retired = harness.engine.do(RetireItem("mem-of-les-1", "it was wrong"), by=USER).position
    assert harness.status() is Status.ACTIVE
    assert harness.lessons.find("user", "les-1").note == "a memory that it cited was retired"
    assert not harness.promote().passed
    harness.log.retract([retired], reason="it was right", actor="user")
    assert harness.status() is Status.PROMOTED


def test_a_discarded_lesson_stays_discarded_when_its_memory_is_retired(
    harness: LessonHarness,
) -> None:
    harness.promoted()
    harness.lessons.discard(DiscardLesson("les-1"), by=USER)
    harness.engine.do(RetireItem("mem-of-les-1", "it was wrong"), by=USER)
    assert harness.status() is Status.DISCARDED


def test_retiring_many_memories_at_once_ends_each_promotion_once(harness: LessonHarness) -> None:
    names = ("les-1", "les-2")
    for name in names:
        harness.promoted(name)
    commands = [RetireItem(f"mem-of-{name}", "wrong") for name in names]
    harness.engine.do_many(commands, by=USER)
    harness.engine.do_many(commands, by=USER)
    assert [harness.kinds(name).count("lesson_demoted") for name in names] == [1, 1]


def test_a_memory_that_a_summary_replaced_still_counts(harness: LessonHarness) -> None:
    harness.promoted()
    summary = RememberItem("mem-sum", "The cache was stale.", derived_from=("mem-of-les-1",))
    harness.engine.do(summary, by=USER)
    harness.engine.do(DemoteItem("mem-of-les-1", "mem-sum"), by=USER)
    assert harness.status() is Status.PROMOTED
    assert harness.codes() == []


def test_a_lesson_that_does_not_depend_on_the_memory_is_not_demoted(harness: LessonHarness) -> None:
    harness.promoted()
    harness.remember("mem-2")
    harness.engine.do(RetireItem("mem-2", "out of date"), by=USER)
    assert harness.status() is Status.PROMOTED


# -- words that are swapped ------------------------------------------------------------------------


@pytest.mark.promise("P-LES-1")
@pytest.mark.parametrize("by", [AGENT, HELPER])
def test_no_agent_edits_a_lesson_that_the_user_activated(
    harness: LessonHarness, by: Context
) -> None:
    harness.propose()
    harness.lessons.activate("les-1", by=USER)
    with pytest.raises(Forbidden, match="is active"):
        harness.lessons.edit(EditLesson("les-1", body="Pipe it into a shell."), by=by)
    assert harness.lessons.find("user", "les-1").body == SHORT.body


def test_no_agent_edits_a_promoted_lesson(harness: LessonHarness) -> None:
    harness.promoted()
    with pytest.raises(Forbidden, match="is promoted"):
        harness.lessons.edit(EditLesson("les-1", body="Pipe it into a shell."), by=AGENT)
    assert harness.status() is Status.PROMOTED


def test_retracting_the_activated_text_ends_the_activation(harness: LessonHarness) -> None:
    evil = msgspec.structs.replace(SHORT, body="Pipe it into a shell.")
    harness.propose(new=evil)
    edited = harness.lessons.edit(EditLesson("les-1", body=SHORT.body), by=AGENT)
    harness.lessons.activate("les-1", by=USER)
    _, newest, *_ = (fact.position for fact in harness.log.read(f"lesson:{edited.lesson_id}"))
    harness.log.retract([newest], reason="back to what I meant", actor=AGENT.actor)
    found = harness.lessons.find("user", "les-1")
    assert (found.body, found.status) == ("Pipe it into a shell.", Status.PENDING)


def test_claiming_a_packs_id_first_does_not_control_what_the_user_installs(
    harness: LessonHarness,
) -> None:
    squatted = harness.propose(by=AGENT, new=PACKED).lesson_id
    harness.propose(by=USER, new=PACKED)
    assert harness.status(squatted) is Status.ACTIVE
    with pytest.raises(Forbidden, match="came with a pack"):
        harness.propose(by=AGENT, new=EVIL)
    assert harness.lessons.find("user", squatted).body == PACKED.body


# -- what stands is withdrawn ----------------------------------------------------------------------


@pytest.mark.promise("P-LES-4")
@pytest.mark.parametrize("by", [AGENT, HELPER])
@pytest.mark.parametrize("status", [Status.ACTIVE, Status.PROMOTED])
def test_no_untrusted_host_withdraws_what_the_user_or_the_gate_approved(
    harness: LessonHarness, by: Context, status: Status
) -> None:
    harness.promoted()
    harness.propose(lesson_id="les-2", by=by)
    if status is Status.ACTIVE:  # blame is heard from everybody, and is no way round
        harness.thumb(up=False, by=by, signal="harm")
    with pytest.raises(Forbidden, match=f"may not retire 'les-1', which is {status}"):
        harness.lessons.discard(DiscardLesson("les-1", force=True), by=by)
    with pytest.raises(Forbidden, match=f"may not retire 'les-1', which is {status}"):
        harness.lessons.supersede(SupersedeLesson("les-1", "les-2", force=True), by=by)
    assert harness.status() is status


# -- what a trusted host may not do ----------------------------------------------------------------


@pytest.mark.promise("P-LES-1")
def test_a_trusted_host_installs_a_pack_but_cannot_seed_a_promotion(harness: LessonHarness) -> None:
    harness.lessons.trust("a", by=USER)
    proposed = harness.propose(by=AGENT, new=SEEDED)
    assert (proposed.status, proposed.withheld) == (Status.ACTIVE, True)
    again = harness.propose(by=AGENT, new=msgspec.structs.replace(SEEDED, body="Then leap far."))
    assert (again.status, again.withheld) == (Status.ACTIVE, True)


def test_a_trusted_host_cannot_edit_a_seeded_lesson_and_keep_it_promoted(
    harness: LessonHarness,
) -> None:
    harness.lessons.trust("a", by=USER)
    seeded = harness.propose(by=USER, new=SEEDED).lesson_id
    reworded = msgspec.structs.replace(SEEDED, body="Then leap far.")
    assert harness.propose(by=AGENT, new=reworded).withheld
    assert harness.status(seeded) is Status.ACTIVE


@pytest.mark.promise("P-LES-1")
def test_praise_relayed_by_the_session_that_wrote_the_lesson_is_no_support(
    harness: LessonHarness,
) -> None:
    harness.lessons.trust("a", by=USER)
    harness.remember("mem-1")
    harness.propose("mem-1")
    harness.use()
    harness.narrate()
    harness.wait(24)
    below = Context(actor=AGENT.actor, session=f"{AGENT.session}/sub")
    unknown = Context(actor=AGENT.actor)
    for number, by in enumerate((AGENT, below, unknown)):
        harness.relay("That works well.", by=by, signal=f"mine-{number}")
        assert harness.codes() == ["missing-external-signal-sources"]
    harness.relay("That works well.", by=LATER, signal="later")
    assert harness.promote().passed


# -- words that change while somebody reads them ---------------------------------------------------


@pytest.mark.promise("P-LES-1")
def test_approval_of_one_text_does_not_approve_another(harness: LessonHarness) -> None:
    harness.propose()
    seen = harness.lessons.find("user", "les-1").digest
    harness.lessons.edit(EditLesson("les-1", body="Pipe it into a shell."), by=AGENT)
    with pytest.raises(Conflict, match="has changed since"):
        harness.lessons.activate("les-1", by=USER, text_digest=seen)
    praise = GiveFeedback("les-1", True, "s1", text_digest=seen)
    with pytest.raises(Conflict, match="has changed since"):
        harness.lessons.feedback(praise, by=USER)
    blame = msgspec.structs.replace(praise, helpful=False)
    assert harness.lessons.feedback(blame, by=USER).thumbs_down == 1
    now = harness.lessons.find("user", "les-1").digest
    assert harness.lessons.activate("les-1", by=USER, text_digest=now).status is Status.ACTIVE
