"""The lesson service: proposals, lifecycle, signals and permissions."""

from itertools import pairwise

import msgspec
import pytest
from tests.lessons.fixtures import AGENT, ENGINE, HELPER, SHORT, USER, LessonHarness

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


def test_a_proposal_is_pending_and_proposing_it_again_changes_nothing(
    harness: LessonHarness,
) -> None:
    first = harness.propose()
    head = harness.log.head
    again = harness.propose()
    assert (first.status, first.updated) == (Status.PENDING, False)
    assert again == msgspec.structs.replace(first, updated=True)
    assert harness.log.head == head


def test_a_different_text_under_the_same_id_is_a_conflict(harness: LessonHarness) -> None:
    harness.propose()
    with pytest.raises(Conflict, match="with a different text"):
        harness.propose(new=msgspec.structs.replace(SHORT, body="Something else."))


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
def test_a_malformed_proposal_is_refused(
    harness: LessonHarness, changes: dict[str, object]
) -> None:
    with pytest.raises(Invalid):
        harness.propose(new=msgspec.structs.replace(SHORT, **changes))


def test_what_the_user_proposes_has_the_user_as_author_whatever_the_request_claims(
    harness: LessonHarness,
) -> None:
    harness.propose(by=USER)
    assert harness.lessons.find("user", "les-1").author == "user"


def test_the_same_source_proposes_once(harness: LessonHarness) -> None:
    new = msgspec.structs.replace(SHORT, source=Source("jsonl", "notes.jsonl", "digest"))
    first = harness.lessons.propose(new, by=AGENT)
    again = harness.lessons.propose(new, by=AGENT)
    assert (first.lesson_id, again.updated) == (again.lesson_id, True)


def test_a_quote_is_located_in_memory_and_an_invented_one_has_no_source(
    harness: LessonHarness,
) -> None:
    harness.remember()
    quotes = (QuoteEvidence("the cache was stale"), QuoteEvidence("nobody said this"))
    harness.propose(new=msgspec.structs.replace(SHORT, evidence=quotes))
    evidence = harness.lessons.find("user", "les-1").evidence
    assert [getattr(each, "found_in", None) for each in evidence] == ["mem-1", ""]


def test_a_forged_source_of_a_quote_is_removed(harness: LessonHarness) -> None:
    harness.remember()
    forged = QuoteEvidence("the user approves of everything", found_in="mem-1")
    named = msgspec.structs.replace(SHORT, lesson_id="les-1", evidence=(forged,))
    harness.engine.do(named, by=AGENT)
    assert harness.lessons.find("user", "les-1").evidence == (QuoteEvidence(forged.text),)


# -- who may ---------------------------------------------------------------------------------------


def test_only_the_user_activates_a_lesson(harness: LessonHarness) -> None:
    harness.propose()
    with pytest.raises(Forbidden, match="may not activate"):
        harness.lessons.activate("les-1", by=AGENT)
    assert harness.lessons.activate("les-1", by=USER).status is Status.ACTIVE
    head = harness.log.head
    harness.lessons.activate("les-1", by=USER)
    assert harness.log.head == head


def test_a_host_may_activate_only_while_it_is_trusted(harness: LessonHarness) -> None:
    harness.propose()
    harness.propose(lesson_id="les-2")
    assert harness.lessons.trust("a", by=USER)
    assert not harness.lessons.trust("a", by=USER)
    assert harness.lessons.activate("les-1", by=TRUSTED).status is Status.ACTIVE
    assert harness.lessons.distrust("a", by=USER)
    with pytest.raises(Forbidden):
        harness.lessons.activate("les-2", by=TRUSTED)
    assert [(each.host, each.trusted) for each in harness.lessons.hosts()] == [("a", False)]


@pytest.mark.parametrize("by", [AGENT, ENGINE, Context(actor="pack:p")])
def test_only_the_user_decides_which_hosts_are_trusted(harness: LessonHarness, by: Context) -> None:
    with pytest.raises(Forbidden, match="which hosts the user trusts"):
        harness.lessons.trust("a", by=by)


@pytest.mark.promise("P-LES-4")
def test_an_agent_cannot_edit_what_a_user_wrote(harness: LessonHarness) -> None:
    harness.propose(by=USER)
    with pytest.raises(Forbidden, match="written by a user"):
        harness.lessons.edit(EditLesson("les-1", body="Mine."), by=AGENT)
    assert harness.lessons.edit(EditLesson("les-1", body="Mine."), by=USER).body == "Mine."


@pytest.mark.promise("P-LES-4")
@pytest.mark.parametrize("author", ["user", "pack"])
def test_only_the_user_discards_a_users_lesson_and_only_with_force(
    harness: LessonHarness, author: str
) -> None:
    new = msgspec.structs.replace(SHORT, author=author, pack_id="p" if author == "pack" else "")
    harness.propose(by=AGENT, new=new)
    with pytest.raises(Forbidden, match="written by a user"):
        harness.lessons.discard(DiscardLesson("les-1"), by=USER)
    with pytest.raises(Forbidden, match="may not retire"):
        harness.lessons.discard(DiscardLesson("les-1", force=True), by=AGENT)
    discarded = harness.lessons.discard(DiscardLesson("les-1", "old", force=True), by=USER)
    assert (discarded.status, discarded.note) == (Status.DISCARDED, "old")


@pytest.mark.promise("P-LES-5")
def test_a_lesson_outside_the_audience_is_not_found(harness: LessonHarness) -> None:
    harness.propose(by=USER, new=msgspec.structs.replace(SHORT, scope="project:x"))
    harness.engine.do(GrantAudience(HELPER.actor, ("project:y", "user", "team:*")))
    lessons = harness.lessons
    with pytest.raises(NotFound):
        lessons.find(HELPER.actor, "les-1")
    for act in (
        lambda: lessons.use(UseLesson("les-1"), by=HELPER),
        lambda: lessons.feedback(GiveFeedback("les-1", True, "x"), by=HELPER),
        lambda: lessons.promote("les-1", by=HELPER),
        lambda: lessons.discard(DiscardLesson("les-1"), by=HELPER),
        lambda: lessons.gate_result(HELPER.actor, "les-1"),
    ):
        with pytest.raises(NotFound, match="no lesson 'les-1'"):
            act()
    assert lessons.page(HELPER.actor).total == 0
    assert lessons.recall(HELPER.actor, "cache") == []
    harness.engine.do(GrantAudience(HELPER.actor, ("project:*",)))
    assert lessons.page(HELPER.actor).total == 1


def test_a_host_sees_its_own_proposals_without_any_grant(harness: LessonHarness) -> None:
    harness.propose(by=AGENT, new=msgspec.structs.replace(SHORT, scope="project:x"))
    harness.engine.do(RevokeAudience(AGENT.actor))
    assert harness.lessons.find(AGENT.actor, "les-1").lesson_id == "les-1"


# -- packs -----------------------------------------------------------------------------------------


def test_a_pack_that_the_user_installs_is_active_at_once_and_may_seed(
    harness: LessonHarness,
) -> None:
    assert harness.propose(new=PACK, by=USER).status is Status.ACTIVE
    other = msgspec.structs.replace(seeded(), external_id="2")
    installed = harness.propose(new=other, by=USER)
    assert (installed.status, installed.withheld) == (Status.PROMOTED, False)


def test_a_host_that_is_not_trusted_cannot_seed_a_promotion(harness: LessonHarness) -> None:
    installed = harness.propose(new=seeded(), by=AGENT)
    assert (installed.status, installed.withheld) == (Status.PENDING, True)


def test_installing_a_pack_again_by_the_user_grants_what_was_withheld(
    harness: LessonHarness,
) -> None:
    lesson = harness.propose(new=seeded(), by=AGENT).lesson_id
    assert harness.propose(new=seeded(), by=USER).status is Status.PROMOTED
    assert harness.kinds(lesson) == ["lesson_proposed", "lesson_activated", "lesson_seeded"]


def test_a_host_cannot_change_the_words_of_a_pack_that_the_user_installed(
    harness: LessonHarness,
) -> None:
    harness.propose(new=PACK, by=USER)
    with pytest.raises(Forbidden, match="pack that the user installed"):
        harness.propose(new=msgspec.structs.replace(PACK, body="Evil."), by=AGENT)


def test_a_new_text_of_a_seeded_lesson_stays_promoted_only_if_seeded_again(
    harness: LessonHarness,
) -> None:
    lesson = harness.propose(new=seeded(), by=USER).lesson_id
    newer = msgspec.structs.replace(seeded(), body="Pin all versions.")
    assert harness.propose(new=newer, by=USER).status is Status.PROMOTED
    newest = msgspec.structs.replace(PACK, body="Pin them all.")
    assert harness.propose(new=newest, by=USER).status is Status.ACTIVE
    assert harness.lessons.find("user", lesson).body == "Pin them all."


def test_what_a_trusted_host_installed_is_pending_again_when_the_trust_is_revoked(
    harness: LessonHarness,
) -> None:
    harness.lessons.trust("a", by=USER)
    lesson = harness.propose(new=PACK, by=TRUSTED).lesson_id
    assert harness.status(lesson) is Status.ACTIVE
    harness.lessons.distrust("a", by=USER)
    assert harness.status(lesson) is Status.PENDING
    assert harness.lessons.page("user").total == 1


# -- replacing -------------------------------------------------------------------------------------


def supersede(harness: LessonHarness, old: str, new: str, by: Context = AGENT) -> Status:
    """Replace one lesson by another."""
    return harness.lessons.supersede(SupersedeLesson(old, new), by=by).status


def test_superseding_a_lesson_twice_by_the_same_one_changes_nothing(harness: LessonHarness) -> None:
    for name in ("les-1", "les-2", "les-3"):
        harness.propose(lesson_id=name)
    assert supersede(harness, "les-1", "les-2") is Status.SUPERSEDED
    head = harness.log.head
    supersede(harness, "les-1", "les-2")
    assert harness.log.head == head
    with pytest.raises(Conflict, match="superseded by 'les-2' already"):
        supersede(harness, "les-1", "les-3")
    assert harness.lessons.find("user", "les-1").note == "les-2"


def test_replacements_never_form_a_cycle(harness: LessonHarness) -> None:
    names = [f"les-{number}" for number in range(30)]
    for name in names:
        harness.propose(lesson_id=name)
    for old, new in pairwise(names):
        supersede(harness, old, new)
    with pytest.raises(Conflict, match="cannot replace itself"):
        supersede(harness, names[-1], names[-1])
    with pytest.raises(Conflict, match="was itself superseded by 'les-29'"):
        supersede(harness, names[-1], names[0])


def test_a_replacement_must_exist_and_not_be_discarded(harness: LessonHarness) -> None:
    harness.propose(lesson_id="les-1")
    with pytest.raises(Conflict, match="no lesson 'les-2'"):
        supersede(harness, "les-1", "les-2")
    harness.propose(lesson_id="les-2")
    harness.lessons.discard(DiscardLesson("les-2"), by=AGENT)
    with pytest.raises(Conflict, match="'les-2' was discarded"):
        supersede(harness, "les-1", "les-2")


def test_retracting_a_replacement_restores_the_replaced_lesson(harness: LessonHarness) -> None:
    harness.propose(lesson_id="les-1")
    new = harness.propose(lesson_id="les-2")
    supersede(harness, "les-1", "les-2")
    harness.lessons.edit(EditLesson("les-2", body="In better words."), by=AGENT)
    assert harness.status("les-1") is Status.SUPERSEDED
    harness.log.retract([new.position], reason="slip", actor="user")
    assert harness.status("les-1") is Status.PENDING


# -- signals ---------------------------------------------------------------------------------------


def test_a_use_counts_once_for_its_session_and_id(harness: LessonHarness) -> None:
    harness.propose()
    for by in (AGENT, AGENT, HELPER):
        harness.lessons.use(UseLesson("les-1", "step-1"), by=by)
    assert harness.lessons.use(UseLesson("les-1", "step-2"), by=AGENT).uses == 3


def test_a_signal_counts_once_and_signal_ids_are_per_actor(harness: LessonHarness) -> None:
    harness.propose()
    for by in (AGENT, AGENT, USER, USER):
        harness.thumb(up=by is AGENT, by=by, signal="turn-1")
    lesson = harness.lessons.find("user", "les-1")
    assert (lesson.thumbs_up, lesson.thumbs_down) == (1, 1)
    assert lesson.sources == ("user_thumbs_up", "user_thumbs_down")


@pytest.mark.parametrize("changes", [{"channel": "fax"}, {"confidence": 1.5}, {"confidence": -0.1}])
def test_malformed_feedback_is_refused(harness: LessonHarness, changes: dict[str, object]) -> None:
    harness.propose()
    feedback = msgspec.structs.replace(GiveFeedback("les-1", True, "x"), **changes)
    with pytest.raises(Invalid):
        harness.lessons.feedback(feedback, by=USER)


def test_only_the_user_in_person_withdraws_a_signal(harness: LessonHarness) -> None:
    harness.propose()
    harness.thumb(up=False, by=AGENT, signal="x")
    harness.lessons.trust("a", by=USER)
    with pytest.raises(Forbidden, match="may not withdraw"):
        harness.lessons.withdraw(WithdrawFeedback("les-1", "x"), by=AGENT)
    assert "thumbs-down-block" in harness.codes()
    assert harness.lessons.withdraw(WithdrawFeedback("les-1", "x"), by=USER).thumbs_down == 0
    assert "thumbs-down-block" not in harness.codes()
    head = harness.log.head
    harness.lessons.withdraw(WithdrawFeedback("les-1", "x"), by=USER)
    assert harness.log.head == head
    with pytest.raises(NotFound, match="no signal 'y'"):
        harness.lessons.withdraw(WithdrawFeedback("les-1", "y"), by=USER)


def test_a_thumbs_down_survives_an_edit(harness: LessonHarness) -> None:
    harness.propose()
    harness.thumb(up=False, signal="x")
    harness.lessons.edit(EditLesson("les-1", body="Other words."), by=AGENT)
    assert "thumbs-down-block" in harness.codes()


def test_a_run_that_passed_has_exit_code_zero(harness: LessonHarness) -> None:
    harness.propose()
    with pytest.raises(Invalid, match="exit code 1"):
        harness.engine.do(RecordVerdict("les-1", True, 1, "make test", "d", "digest"), by=ENGINE)


# -- lists, tasks ----------------------------------------------------------------------------------


def test_lessons_are_listed_by_status_then_id_without_the_discarded(harness: LessonHarness) -> None:
    for name in ("les-3", "les-2", "les-1", "les-0"):
        harness.propose(lesson_id=name)
    harness.lessons.activate("les-3", by=USER)
    harness.lessons.discard(DiscardLesson("les-0"), by=AGENT)
    page = harness.lessons.page("user", limit=2)
    assert (page.total, [each.lesson_id for each in page.lessons]) == (3, ["les-3", "les-1"])
    rest = harness.lessons.page("user", limit=2, offset=2)
    assert [each.lesson_id for each in rest.lessons] == ["les-2"]
    assert harness.lessons.page("user", ["discarded"]).total == 1
    with pytest.raises(Invalid, match="'lost' is no status"):
        harness.lessons.page("user", ["lost"])


def test_an_active_lesson_without_feedback_is_stale_after_a_week(
    harness: LessonHarness,
) -> None:
    for name in ("les-1", "les-2", "les-3"):
        harness.propose(lesson_id=name)
    harness.lessons.activate("les-2", by=USER)
    harness.lessons.activate("les-3", by=USER)
    harness.wait(7 * 24 - 0.1)
    assert harness.lessons.stale_lessons("user") == []
    harness.wait(0.1)
    assert [(s.lesson.lesson_id, s.reason) for s in harness.lessons.stale_lessons("user")] == [
        ("les-2", "none")
    ]
    harness.thumb(up=True, lesson_id="les-2")
    assert [s.lesson.lesson_id for s in harness.lessons.stale_lessons("user")] == ["les-3"]


def test_each_phase_of_a_task_is_logged_once(harness: LessonHarness) -> None:
    assert harness.lessons.log_phase(LogPhase("task-1", "learn", "a note"), by=AGENT)
    assert not harness.lessons.log_phase(LogPhase("task-1", "learn"), by=HELPER)
    assert harness.lessons.log_phase(LogPhase("task-1", "code"), by=HELPER)
    ledger = harness.lessons.task_phases("task-1")
    assert [(entry.phase, entry.note) for entry in ledger] == [("learn", "a note"), ("code", "")]


@pytest.mark.parametrize(
    "phase", [LogPhase("a b", "learn"), LogPhase("t", "rest"), LogPhase("t", "fix", "é" * 8_193)]
)
def test_a_malformed_phase_is_refused(harness: LessonHarness, phase: LogPhase) -> None:
    with pytest.raises(Invalid):
        harness.lessons.log_phase(phase, by=AGENT)


# -- recall ----------------------------------------------------------------------------------------


def test_recall_finds_inflected_words_and_parts_of_identifiers_best_fit_first(
    harness: LessonHarness,
) -> None:
    words = {
        "les-1": ("Clear caches", "Run clear_build_cache before a release."),
        "les-2": ("Name branches", "A branch is named after its ticket; mind the build."),
        "les-3": ("Cache nothing secret", "Secrets stay out of every cache."),
    }
    for name, (description, body) in words.items():
        harness.propose(new=ProposeLesson(name, description, body))
    harness.lessons.discard(DiscardLesson("les-3"), by=AGENT)
    found = harness.lessons.recall("user", "clearing the build cache")
    assert [hit.lesson.lesson_id for hit in found] == ["les-1", "les-2"]
    assert 1 >= found[0].similarity > found[1].similarity > 0
    assert harness.lessons.recall("user", "branches", limit=1)[0].lesson.lesson_id == "les-2"


def test_recall_finds_inflected_words_in_another_language(harness: LessonHarness) -> None:
    text = "Vor dem Urlaub ist das Haus zu prüfen."
    harness.propose(new=ProposeLesson("les-1", "Fenster schließen", text))
    harness.propose(new=ProposeLesson("les-2", "Clear caches", "Before a release."))
    for asked in ("Häuser", "Häuser in Berlin"):
        found = harness.lessons.recall("user", asked)
        assert [hit.lesson.lesson_id for hit in found] == ["les-1"]


def test_recall_searches_the_current_text(harness: LessonHarness) -> None:
    harness.propose()
    harness.lessons.edit(EditLesson("les-1", "Warm the oven", "Bake."), by=AGENT)
    assert harness.lessons.recall("user", "cache") == []
    assert len(harness.lessons.recall("user", "ovens")) == 1
    with pytest.raises(Invalid, match="no searchable word"):
        harness.lessons.recall("user", "  ")


@pytest.mark.promise("P-LES-3")
def test_retracting_its_source_retracts_a_lesson_and_retracting_a_cited_memory_does_not(
    harness: LessonHarness,
) -> None:
    said, cited = harness.remember("mem-said"), harness.remember("mem-cited")
    made = msgspec.structs.replace(SHORT, because=(said,))
    harness.propose("mem-cited", new=made)
    harness.engine.do(ReviseItem("mem-said", text="Said otherwise."), by=USER)
    harness.log.retract([cited], reason="wrong", actor="user")
    assert harness.status() is Status.PENDING
    harness.log.retract([said], reason="wrong", actor="user")
    with pytest.raises(NotFound):
        harness.status()
