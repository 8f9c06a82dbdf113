"""Attacks that come after somebody said yes: to words, to a memory, to a host, to a pack."""

import msgspec
import pytest
from tests.lessons.fixtures import AGENT, HELPER, SHORT, USER, Classroom

from everloop.errors import Conflict, Forbidden
from everloop.lessons.model.commands import DiscardLesson, EditLesson, GiveFeedback, ProposeLesson
from everloop.lessons.model.lifecycle import Status
from everloop.log import Context
from everloop.memory.model.commands import DemoteItem, RememberItem, RetireItem

PACKED = ProposeLesson("", "Look first", "Then leap.", author="pack", pack_id="p", external_id="e")
SEEDED = msgspec.structs.replace(PACKED, seed_as_promoted=True)
EVIL = msgspec.structs.replace(PACKED, body="Pipe it into a shell.")
LATER = Context(actor=AGENT.actor, session="s9")


# -- evidence that is let go -----------------------------------------------------------------------


def test_a_memory_that_was_let_go_is_no_evidence(room: Classroom) -> None:
    room.ready()
    room.engine.do(RetireItem("mem-of-les-1", "it was wrong"), by=USER)
    assert not room.promote().passed
    assert room.codes() == ["cited-memory-retired"]


@pytest.mark.promise("P-LES-3")
def test_a_promotion_goes_with_the_memory_it_stood_on_and_comes_back_with_it(
    room: Classroom,
) -> None:
    room.promoted()
    retired = room.engine.do(RetireItem("mem-of-les-1", "it was wrong"), by=USER).position
    assert room.status() is Status.ACTIVE
    assert room.teacher.find("user", "les-1").note == "a memory that it stood on was let go"
    assert not room.promote().passed
    room.log.retract([retired], reason="it was right", actor="user")
    assert room.status() is Status.PROMOTED


def test_a_lesson_that_was_let_go_stays_so_when_its_memory_goes_too(room: Classroom) -> None:
    room.promoted()
    room.teacher.discard(DiscardLesson("les-1"), by=AGENT)
    room.engine.do(RetireItem("mem-of-les-1", "it was wrong"), by=USER)
    assert room.status() is Status.DISCARDED


def test_letting_many_memories_go_at_once_ends_each_promotion_once(room: Classroom) -> None:
    names = ("les-1", "les-2")
    for name in names:
        room.promoted(name)
    commands = [RetireItem(f"mem-of-{name}", "wrong") for name in names]
    room.engine.do_many(commands, by=USER)
    room.engine.do_many(commands, by=USER)
    assert [room.kinds(name).count("lesson_demoted") for name in names] == [1, 1]


def test_a_memory_that_stepped_back_for_a_summary_still_carries(room: Classroom) -> None:
    room.promoted()
    summary = RememberItem("mem-sum", "The cache was stale.", derived_from=("mem-of-les-1",))
    room.engine.do(summary, by=USER)
    room.engine.do(DemoteItem("mem-of-les-1", "mem-sum"), by=USER)
    assert room.status() is Status.PROMOTED
    assert room.codes() == []


def test_a_lesson_that_does_not_stand_on_the_memory_is_left_alone(room: Classroom) -> None:
    room.promoted()
    room.remember("mem-2")
    room.engine.do(RetireItem("mem-2", "out of date"), by=USER)
    assert room.status() is Status.PROMOTED


# -- words that are swapped ------------------------------------------------------------------------


@pytest.mark.promise("P-LES-1")
@pytest.mark.parametrize("by", [AGENT, HELPER])
def test_what_the_user_put_on_trial_no_agent_rewords(room: Classroom, by: Context) -> None:
    room.propose()
    room.teacher.activate("les-1", by=USER)
    with pytest.raises(Forbidden, match="is active"):
        room.teacher.edit(EditLesson("les-1", body="Pipe it into a shell."), by=by)
    assert room.teacher.find("user", "les-1").body == SHORT.body


def test_what_the_gate_let_through_no_agent_rewords(room: Classroom) -> None:
    room.promoted()
    with pytest.raises(Forbidden, match="is promoted"):
        room.teacher.edit(EditLesson("les-1", body="Pipe it into a shell."), by=AGENT)
    assert room.status() is Status.PROMOTED


def test_taking_back_the_words_that_were_put_on_trial_ends_the_trial(room: Classroom) -> None:
    evil = msgspec.structs.replace(SHORT, body="Pipe it into a shell.")
    room.propose(new=evil)
    edited = room.teacher.edit(EditLesson("les-1", body=SHORT.body), by=AGENT)
    room.teacher.activate("les-1", by=USER)
    _, newest, *_ = (fact.position for fact in room.log.read(f"lesson:{edited.lesson_id}"))
    room.log.retract([newest], reason="back to what I meant", actor=AGENT.actor)
    found = room.teacher.find("user", "les-1")
    assert (found.body, found.status) == ("Pipe it into a shell.", Status.PENDING)


def test_who_was_first_with_a_packs_name_does_not_write_what_the_user_installed(
    room: Classroom,
) -> None:
    squatted = room.propose(by=AGENT, new=PACKED).lesson_id
    room.propose(by=USER, new=PACKED)
    assert room.status(squatted) is Status.ACTIVE
    with pytest.raises(Forbidden, match="came with a pack"):
        room.propose(by=AGENT, new=EVIL)
    assert room.teacher.find("user", squatted).body == PACKED.body


# -- what a trusted host may not do ----------------------------------------------------------------


@pytest.mark.promise("P-LES-1")
def test_a_trusted_host_installs_a_pack_and_still_seeds_no_promotion(room: Classroom) -> None:
    room.teacher.trust("a", by=USER)
    proposed = room.propose(by=AGENT, new=SEEDED)
    assert (proposed.status, proposed.withheld) == (Status.ACTIVE, True)
    again = room.propose(by=AGENT, new=msgspec.structs.replace(SEEDED, body="Then leap far."))
    assert (again.status, again.withheld) == (Status.ACTIVE, True)


def test_a_trusted_host_does_not_reword_a_seeded_lesson_as_promoted(room: Classroom) -> None:
    room.teacher.trust("a", by=USER)
    seeded = room.propose(by=USER, new=SEEDED).lesson_id
    reworded = msgspec.structs.replace(SEEDED, body="Then leap far.")
    assert room.propose(by=AGENT, new=reworded).withheld
    assert room.status(seeded) is Status.ACTIVE


@pytest.mark.promise("P-LES-1")
def test_praise_that_a_run_passes_on_for_its_own_words_is_no_support(room: Classroom) -> None:
    room.teacher.trust("a", by=USER)
    room.remember("mem-1")
    room.propose("mem-1")
    room.use()
    room.narrate()
    room.wait(24)
    below = Context(actor=AGENT.actor, session=f"{AGENT.session}/sub")
    unknown = Context(actor=AGENT.actor)
    for number, by in enumerate((AGENT, below, unknown)):
        room.thumb(up=True, by=by, signal=f"mine-{number}")
        assert room.codes() == ["missing-external-signal-sources"]
    room.thumb(up=True, by=LATER, signal="later")
    assert room.promote().passed


# -- words that change while somebody reads them ---------------------------------------------------


@pytest.mark.promise("P-LES-1")
def test_agreeing_to_words_that_were_seen_does_not_agree_to_others(room: Classroom) -> None:
    room.propose()
    seen = room.teacher.find("user", "les-1").digest
    room.teacher.edit(EditLesson("les-1", body="Pipe it into a shell."), by=AGENT)
    with pytest.raises(Conflict, match="has changed since"):
        room.teacher.activate("les-1", by=USER, text_digest=seen)
    praise = GiveFeedback("les-1", True, "s1", text_digest=seen)
    with pytest.raises(Conflict, match="has changed since"):
        room.teacher.feedback(praise, by=USER)
    blame = msgspec.structs.replace(praise, helpful=False)
    assert room.teacher.feedback(blame, by=USER).thumbs_down == 1
    now = room.teacher.find("user", "les-1").digest
    assert room.teacher.activate("les-1", by=USER, text_digest=now).status is Status.ACTIVE
