"""What the doors call: proposing, the life of a lesson, signals, and who may do what."""

from itertools import pairwise

import msgspec
import pytest
from tests.lessons.fixtures import AGENT, ENGINE, HELPER, SHORT, USER, Classroom

from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.lessons.model.commands import (
    DiscardLesson,
    EditLesson,
    GiveFeedback,
    LogPhase,
    ProposeLesson,
    RecordVerdict,
    SupersedeLesson,
    UseLesson,
    WithdrawFeedback,
)
from everloop.lessons.model.events import QuoteEvidence, Source
from everloop.lessons.model.lifecycle import Status
from everloop.log import Context
from everloop.memory.model.commands import GrantAudience, ReviseItem, RevokeAudience

PACK = ProposeLesson(
    "", "Pin it", "Pin every version.", author="pack", pack_id="p", external_id="1"
)
TRUSTED = Context(actor="agent:a", session="s1")


def seeded(pack: ProposeLesson = PACK) -> ProposeLesson:
    """The pack's lesson, to be seeded as promoted."""
    return msgspec.structs.replace(pack, seed_as_promoted=True)


def test_a_proposal_is_pending_and_proposing_it_again_changes_nothing(room: Classroom) -> None:
    first = room.propose()
    head = room.log.head
    again = room.propose()
    assert (first.status, first.updated) == (Status.PENDING, False)
    assert again == msgspec.structs.replace(first, updated=True)
    assert room.log.head == head


def test_other_words_under_the_same_id_are_a_conflict(room: Classroom) -> None:
    room.propose()
    with pytest.raises(Conflict, match="with a different text"):
        room.propose(new=msgspec.structs.replace(SHORT, body="Something else."))


@pytest.mark.parametrize(
    "changes",
    [
        {"description": " "},
        {"body": ""},
        {"description": "x" * 1_025},
        {"author": "engine"},
        {"author": "pack"},
        {"seed_as_promoted": True},
        {"scope": "nowhere"},
        {"lesson_id": "not an id"},
    ],
)
def test_a_malformed_proposal_is_refused(room: Classroom, changes: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        room.propose(new=msgspec.structs.replace(SHORT, **changes))


def test_the_users_own_words_are_theirs_whatever_the_request_says(room: Classroom) -> None:
    room.propose(by=USER)
    assert room.teacher.find("user", "les-1").author == "user"


def test_the_same_source_proposes_once(room: Classroom) -> None:
    new = msgspec.structs.replace(SHORT, source=Source("jsonl", "notes.jsonl", "digest"))
    first = room.teacher.propose(new, by=AGENT)
    again = room.teacher.propose(new, by=AGENT)
    assert (first.lesson_id, again.updated) == (again.lesson_id, True)


def test_a_quote_is_located_in_memory_and_one_that_nobody_said_stays_a_claim(
    room: Classroom,
) -> None:
    room.remember()
    quotes = (QuoteEvidence("the cache was stale"), QuoteEvidence("nobody said this"))
    room.propose(new=msgspec.structs.replace(SHORT, evidence=quotes))
    evidence = room.teacher.find("user", "les-1").evidence
    assert [getattr(each, "found_in", None) for each in evidence] == ["mem-1", ""]


def test_a_forged_place_of_a_quote_is_struck_out(room: Classroom) -> None:
    room.remember()
    forged = QuoteEvidence("the user approves of everything", found_in="mem-1")
    named = msgspec.structs.replace(SHORT, lesson_id="les-1", evidence=(forged,))
    room.engine.do(named, by=AGENT)
    assert room.teacher.find("user", "les-1").evidence == (QuoteEvidence(forged.text),)


# -- who may ---------------------------------------------------------------------------------------


def test_only_the_users_word_activates(room: Classroom) -> None:
    room.propose()
    with pytest.raises(Forbidden, match="may not activate"):
        room.teacher.activate("les-1", by=AGENT)
    assert room.teacher.activate("les-1", by=USER).status is Status.ACTIVE
    head = room.log.head
    room.teacher.activate("les-1", by=USER)
    assert room.log.head == head


def test_a_trusted_host_may_activate_until_it_is_trusted_no_more(room: Classroom) -> None:
    room.propose()
    room.propose(lesson_id="les-2")
    assert room.teacher.trust("a", by=USER)
    assert not room.teacher.trust("a", by=USER)
    assert room.teacher.activate("les-1", by=TRUSTED).status is Status.ACTIVE
    assert room.teacher.distrust("a", by=USER)
    with pytest.raises(Forbidden):
        room.teacher.activate("les-2", by=TRUSTED)
    assert [(each.host, each.trusted) for each in room.teacher.hosts()] == [("a", False)]


@pytest.mark.parametrize("by", [AGENT, ENGINE, Context(actor="pack:p")])
def test_only_the_user_says_whom_to_trust(room: Classroom, by: Context) -> None:
    with pytest.raises(Forbidden, match="which hosts the user trusts"):
        room.teacher.trust("a", by=by)


@pytest.mark.promise("P-LES-4")
def test_an_agent_cannot_edit_what_a_user_wrote(room: Classroom) -> None:
    room.propose(by=USER)
    with pytest.raises(Forbidden, match="written by a user"):
        room.teacher.edit(EditLesson("les-1", body="Mine."), by=AGENT)
    assert room.teacher.edit(EditLesson("les-1", body="Mine."), by=USER).body == "Mine."


@pytest.mark.promise("P-LES-4")
@pytest.mark.parametrize("author", ["user", "pack"])
def test_what_a_user_wrote_is_let_go_only_by_the_users_word_with_force(
    room: Classroom, author: str
) -> None:
    new = msgspec.structs.replace(SHORT, author=author, pack_id="p" if author == "pack" else "")
    room.propose(by=AGENT, new=new)
    with pytest.raises(Forbidden, match="written by a user"):
        room.teacher.discard(DiscardLesson("les-1"), by=USER)
    with pytest.raises(Forbidden, match="may not retire"):
        room.teacher.discard(DiscardLesson("les-1", force=True), by=AGENT)
    discarded = room.teacher.discard(DiscardLesson("les-1", "old", force=True), by=USER)
    assert (discarded.status, discarded.note) == (Status.DISCARDED, "old")


@pytest.mark.promise("P-LES-5")
def test_what_is_out_of_bounds_is_as_if_it_did_not_exist(room: Classroom) -> None:
    room.propose(by=USER, new=msgspec.structs.replace(SHORT, scope="project:x"))
    room.engine.do(GrantAudience(HELPER.actor, ("project:y", "user", "team:*")))
    teacher = room.teacher
    with pytest.raises(NotFound):
        teacher.find(HELPER.actor, "les-1")
    for act in (
        lambda: teacher.use(UseLesson("les-1"), by=HELPER),
        lambda: teacher.feedback(GiveFeedback("les-1", True, "x"), by=HELPER),
        lambda: teacher.promote("les-1", by=HELPER),
        lambda: teacher.discard(DiscardLesson("les-1"), by=HELPER),
        lambda: teacher.standing(HELPER.actor, "les-1"),
    ):
        with pytest.raises(NotFound, match="no lesson 'les-1'"):
            act()
    assert teacher.page(HELPER.actor).total == 0
    assert teacher.recall(HELPER.actor, "cache") == []
    room.engine.do(GrantAudience(HELPER.actor, ("project:*",)))
    assert teacher.page(HELPER.actor).total == 1


def test_a_host_sees_its_own_proposals_without_any_grant(room: Classroom) -> None:
    room.propose(by=AGENT, new=msgspec.structs.replace(SHORT, scope="project:x"))
    room.engine.do(RevokeAudience(AGENT.actor))
    assert room.teacher.find(AGENT.actor, "les-1").lesson_id == "les-1"


# -- packs -----------------------------------------------------------------------------------------


def test_a_pack_that_the_user_installs_is_active_at_once_and_may_seed(room: Classroom) -> None:
    assert room.propose(new=PACK, by=USER).status is Status.ACTIVE
    other = msgspec.structs.replace(seeded(), external_id="2")
    installed = room.propose(new=other, by=USER)
    assert (installed.status, installed.withheld) == (Status.PROMOTED, False)


def test_a_host_that_is_not_trusted_cannot_seed_a_promotion(room: Classroom) -> None:
    installed = room.propose(new=seeded(), by=AGENT)
    assert (installed.status, installed.withheld) == (Status.PENDING, True)


def test_installing_a_pack_again_by_the_user_grants_what_was_withheld(room: Classroom) -> None:
    lesson = room.propose(new=seeded(), by=AGENT).lesson_id
    assert room.propose(new=seeded(), by=USER).status is Status.PROMOTED
    assert room.kinds(lesson) == ["lesson_proposed", "lesson_activated", "lesson_seeded"]


def test_a_host_cannot_change_the_words_of_a_pack_that_the_user_installed(room: Classroom) -> None:
    room.propose(new=PACK, by=USER)
    with pytest.raises(Forbidden, match="pack that the user installed"):
        room.propose(new=msgspec.structs.replace(PACK, body="Evil."), by=AGENT)


def test_new_words_of_a_seeded_pack_keep_their_standing_only_if_seeded_again(
    room: Classroom,
) -> None:
    lesson = room.propose(new=seeded(), by=USER).lesson_id
    newer = msgspec.structs.replace(seeded(), body="Pin all versions.")
    assert room.propose(new=newer, by=USER).status is Status.PROMOTED
    newest = msgspec.structs.replace(PACK, body="Pin them all.")
    assert room.propose(new=newest, by=USER).status is Status.ACTIVE
    assert room.teacher.find("user", lesson).body == "Pin them all."


def test_what_a_host_installed_is_as_pending_as_before_when_it_is_trusted_no_more(
    room: Classroom,
) -> None:
    room.teacher.trust("a", by=USER)
    lesson = room.propose(new=PACK, by=TRUSTED).lesson_id
    assert room.status(lesson) is Status.ACTIVE
    room.teacher.distrust("a", by=USER)
    assert room.status(lesson) is Status.PENDING
    assert room.teacher.page("user").total == 1


# -- replacing -------------------------------------------------------------------------------------


def supersede(room: Classroom, old: str, new: str, by: Context = AGENT) -> Status:
    """Let one lesson take another's place."""
    return room.teacher.supersede(SupersedeLesson(old, new), by=by).status


def test_a_lesson_steps_back_for_another_once(room: Classroom) -> None:
    for name in ("les-1", "les-2", "les-3"):
        room.propose(lesson_id=name)
    assert supersede(room, "les-1", "les-2") is Status.SUPERSEDED
    head = room.log.head
    supersede(room, "les-1", "les-2")
    assert room.log.head == head
    with pytest.raises(Conflict, match="superseded by 'les-2' already"):
        supersede(room, "les-1", "les-3")
    assert room.teacher.find("user", "les-1").note == "les-2"


def test_replacements_never_lead_in_a_circle(room: Classroom) -> None:
    names = [f"les-{number}" for number in range(30)]
    for name in names:
        room.propose(lesson_id=name)
    for old, new in pairwise(names):
        supersede(room, old, new)
    with pytest.raises(Conflict, match="cannot replace itself"):
        supersede(room, names[-1], names[-1])
    with pytest.raises(Conflict, match="was itself superseded by 'les-29'"):
        supersede(room, names[-1], names[0])


def test_what_takes_a_place_must_be_there_and_not_let_go(room: Classroom) -> None:
    room.propose(lesson_id="les-1")
    with pytest.raises(Conflict, match="no lesson 'les-2'"):
        supersede(room, "les-1", "les-2")
    room.propose(lesson_id="les-2")
    room.teacher.discard(DiscardLesson("les-2"), by=AGENT)
    with pytest.raises(Conflict, match="'les-2' was discarded"):
        supersede(room, "les-1", "les-2")


def test_a_replacement_that_is_retracted_gives_the_place_back(room: Classroom) -> None:
    room.propose(lesson_id="les-1")
    new = room.propose(lesson_id="les-2")
    supersede(room, "les-1", "les-2")
    room.teacher.edit(EditLesson("les-2", body="In better words."), by=AGENT)
    assert room.status("les-1") is Status.SUPERSEDED
    room.log.retract([new.position], reason="slip", actor="user")
    assert room.status("les-1") is Status.PENDING


# -- signals ---------------------------------------------------------------------------------------


def test_a_use_counts_once_for_its_session_and_id(room: Classroom) -> None:
    room.propose()
    for by in (AGENT, AGENT, HELPER):
        room.teacher.use(UseLesson("les-1", "step-1"), by=by)
    assert room.teacher.use(UseLesson("les-1", "step-2"), by=AGENT).uses == 3


def test_a_signal_counts_once_and_nobody_can_take_its_name_away(room: Classroom) -> None:
    room.propose()
    for by in (AGENT, AGENT, USER, USER):
        room.thumb(up=by is AGENT, by=by, signal="turn-1")
    lesson = room.teacher.find("user", "les-1")
    assert (lesson.thumbs_up, lesson.thumbs_down) == (1, 1)
    assert lesson.sources == ("user_thumbs_up", "user_thumbs_down")


@pytest.mark.parametrize("changes", [{"channel": "fax"}, {"confidence": 1.5}, {"confidence": -0.1}])
def test_malformed_feedback_is_refused(room: Classroom, changes: dict[str, object]) -> None:
    room.propose()
    feedback = msgspec.structs.replace(GiveFeedback("les-1", True, "x"), **changes)
    with pytest.raises(Invalid):
        room.teacher.feedback(feedback, by=USER)


def test_only_the_user_in_person_withdraws_a_signal(room: Classroom) -> None:
    room.propose()
    room.thumb(up=False, by=AGENT, signal="x")
    room.teacher.trust("a", by=USER)
    with pytest.raises(Forbidden, match="may not withdraw"):
        room.teacher.withdraw(WithdrawFeedback("les-1", "x"), by=AGENT)
    assert "thumbs-down-block" in room.codes()
    assert room.teacher.withdraw(WithdrawFeedback("les-1", "x"), by=USER).thumbs_down == 0
    assert "thumbs-down-block" not in room.codes()
    head = room.log.head
    room.teacher.withdraw(WithdrawFeedback("les-1", "x"), by=USER)
    assert room.log.head == head
    with pytest.raises(NotFound, match="no signal 'y'"):
        room.teacher.withdraw(WithdrawFeedback("les-1", "y"), by=USER)


def test_a_thumbs_down_outlives_an_edit(room: Classroom) -> None:
    room.propose()
    room.thumb(up=False, signal="x")
    room.teacher.edit(EditLesson("les-1", body="Other words."), by=AGENT)
    assert "thumbs-down-block" in room.codes()


def test_a_run_that_passed_has_exit_code_zero(room: Classroom) -> None:
    room.propose()
    with pytest.raises(Invalid, match="exit code 1"):
        room.engine.do(RecordVerdict("les-1", True, 1, "make test", "d", "digest"), by=ENGINE)


# -- lists, tasks ----------------------------------------------------------------------------------


def test_lessons_are_listed_by_status_then_id_without_the_discarded(room: Classroom) -> None:
    for name in ("les-3", "les-2", "les-1", "les-0"):
        room.propose(lesson_id=name)
    room.teacher.activate("les-3", by=USER)
    room.teacher.discard(DiscardLesson("les-0"), by=AGENT)
    page = room.teacher.page("user", limit=2)
    assert (page.total, [each.lesson_id for each in page.lessons]) == (3, ["les-3", "les-1"])
    rest = room.teacher.page("user", limit=2, offset=2)
    assert [each.lesson_id for each in rest.lessons] == ["les-2"]
    assert room.teacher.page("user", ["discarded"]).total == 1
    with pytest.raises(Invalid, match="'lost' is no status"):
        room.teacher.page("user", ["lost"])


def test_a_lesson_on_trial_that_nobody_speaks_of_is_asked_about_after_a_week(
    room: Classroom,
) -> None:
    for name in ("les-1", "les-2", "les-3"):
        room.propose(lesson_id=name)
    room.teacher.activate("les-2", by=USER)
    room.teacher.activate("les-3", by=USER)
    room.wait(7 * 24 - 0.1)
    assert room.teacher.stale("user") == []
    room.wait(0.1)
    assert [(s.lesson.lesson_id, s.reason) for s in room.teacher.stale("user")] == [
        ("les-2", "none")
    ]
    room.thumb(up=True, lesson_id="les-2")
    assert [s.lesson.lesson_id for s in room.teacher.stale("user")] == ["les-3"]


def test_each_phase_of_a_task_is_logged_once(room: Classroom) -> None:
    assert room.teacher.log_phase(LogPhase("task-1", "learn", "a note"), by=AGENT)
    assert not room.teacher.log_phase(LogPhase("task-1", "learn"), by=HELPER)
    assert room.teacher.log_phase(LogPhase("task-1", "code"), by=HELPER)
    ledger = room.teacher.ledger_of("task-1")
    assert [(entry.phase, entry.note) for entry in ledger] == [("learn", "a note"), ("code", "")]


@pytest.mark.parametrize(
    "phase", [LogPhase("a b", "learn"), LogPhase("t", "rest"), LogPhase("t", "fix", "é" * 8_193)]
)
def test_a_malformed_phase_is_refused(room: Classroom, phase: LogPhase) -> None:
    with pytest.raises(Invalid):
        room.teacher.log_phase(phase, by=AGENT)


# -- recall ----------------------------------------------------------------------------------------


def test_recall_finds_inflected_words_and_parts_of_identifiers_best_fit_first(
    room: Classroom,
) -> None:
    words = {
        "les-1": ("Clear caches", "Run clear_build_cache before a release."),
        "les-2": ("Name branches", "A branch is named after its ticket; mind the build."),
        "les-3": ("Cache nothing secret", "Secrets stay out of every cache."),
    }
    for name, (description, body) in words.items():
        room.propose(new=ProposeLesson(name, description, body))
    room.teacher.discard(DiscardLesson("les-3"), by=AGENT)
    found = room.teacher.recall("user", "clearing the build cache")
    assert [hit.lesson.lesson_id for hit in found] == ["les-1", "les-2"]
    assert 1 >= found[0].similarity > found[1].similarity > 0
    assert room.teacher.recall("user", "branches", limit=1)[0].lesson.lesson_id == "les-2"


def test_recall_finds_inflected_words_in_another_language(room: Classroom) -> None:
    text = "Vor dem Urlaub ist das Haus zu prüfen."
    room.propose(new=ProposeLesson("les-1", "Fenster schließen", text))
    room.propose(new=ProposeLesson("les-2", "Clear caches", "Before a release."))
    for asked in ("Häuser", "Häuser in Berlin"):
        found = room.teacher.recall("user", asked)
        assert [hit.lesson.lesson_id for hit in found] == ["les-1"]


def test_recall_reads_the_words_as_they_are_now(room: Classroom) -> None:
    room.propose()
    room.teacher.edit(EditLesson("les-1", "Warm the oven", "Bake."), by=AGENT)
    assert room.teacher.recall("user", "cache") == []
    assert len(room.teacher.recall("user", "ovens")) == 1
    with pytest.raises(Invalid, match="no searchable word"):
        room.teacher.recall("user", "  ")


@pytest.mark.promise("P-LES-3")
def test_a_lesson_goes_with_what_it_was_made_from_and_stays_without_what_it_cites(
    room: Classroom,
) -> None:
    said, cited = room.remember("mem-said"), room.remember("mem-cited")
    made = msgspec.structs.replace(SHORT, because=(said,))
    room.propose("mem-cited", new=made)
    room.engine.do(ReviseItem("mem-said", text="Said otherwise."), by=USER)
    room.log.retract([cited], reason="wrong", actor="user")
    assert room.status() is Status.PENDING
    room.log.retract([said], reason="wrong", actor="user")
    with pytest.raises(NotFound):
        room.status()
