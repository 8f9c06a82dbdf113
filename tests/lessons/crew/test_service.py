"""The crew service over a real log: audiences, citations and rebuilt projections."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from everloop.app import Engine
from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.lessons.crew.commands import (
    ActivateEntry,
    ArchiveEntry,
    EnlistEntry,
    RemoveEntry,
    ReviseEntry,
)
from everloop.lessons.crew.deciders import CREW_DECIDERS
from everloop.lessons.crew.events import HookGroup, HookHandler, Member, Persona, Skill, Team
from everloop.lessons.crew.queries import entry_summaries
from everloop.lessons.model.commands import ProposeLesson, TrustHost
from everloop.lessons.model.events import LessonPromoted, Narrative
from everloop.lessons.projections.queries import LessonView
from everloop.log import Context, Draft
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.memory.model.commands import GrantAudience, RememberItem, RetireItem
from everloop.memory.projections.citations import citation_links, user_citers
from everloop.memory.projections.queries import load_viewer
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts

USER = Context()
AGENT = Context(actor="agent:x", session="s1")
SKILL = Skill("Ships a release", "Run the checks first.")
DEPLOY = EnlistEntry("skill", "deploy", SKILL)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    settings = Settings(home=str(tmp_path), memory=MemorySettings(embedder="none"))
    with Engine.open(tmp_path, settings=settings, ports=DeterministicPorts().ports) as opened:
        yield opened


def names(engine: Engine, principal: str = "user") -> list[str]:
    return [each.name for each in engine.crew.entry_summaries(principal, "skill")]


def citers(engine: Engine, item_id: str) -> list[str]:
    with engine.reading() as reader:
        return user_citers(reader, item_id)


def test_every_command_of_the_crew_is_decided_once() -> None:
    decided = [decider.command for decider in CREW_DECIDERS]
    assert len(set(decided)) == len(decided) == 5
    assert {decider.stream(DEPLOY) for decider in CREW_DECIDERS} == {"skill:deploy"}


def test_an_entry_contains_everything_that_was_written(engine: Engine) -> None:
    handler = HookHandler("command", {"command": "x"}, 5.0, True)
    hooks: dict[str, tuple[HookGroup, ...]] = {"Stop": (HookGroup((handler,), "Bash"),)}
    whole = Skill(
        description="d", body="b", type="analytical", version="1.0", when_to_use="w",
        argument_hint="[n]", arguments=("n",), allowed_tools=("Read",), model="m", effort="high",
        context="fork", agent="Explore", hooks=hooks, paths=("*.py",), activation="path-triggered",
    )  # fmt: skip
    engine.crew.enlist(EnlistEntry("skill", "check", whole), by=USER)
    team = Team("Home", "d", "b", (Member("persona", "ada"), Member("user", "ben")))
    engine.crew.enlist(EnlistEntry("team", "home", team), by=USER)
    engine.crew.enlist(EnlistEntry("persona", "ada", Persona("Ada", "d", "b")), by=USER)
    assert engine.crew.find_entry("user", "skill", "check").profile == whole
    assert engine.crew.find_entry("user", "team", "home").profile == team
    assert engine.crew.find_entry("user", "persona", "ada").headline.title == "Ada"


@pytest.mark.promise("P-CREW-3")
def test_an_agents_skill_is_a_draft_until_the_user_activates_it(engine: Engine) -> None:
    done = engine.crew.enlist(DEPLOY, by=AGENT)
    assert (done.what, done.status, done.withheld) == ("new", "draft", True)
    with pytest.raises(Forbidden):
        engine.crew.change_status(ActivateEntry("skill", "deploy"), by=AGENT)
    engine.crew.change_status(ActivateEntry("skill", "deploy"), by=USER)
    assert engine.crew.find_entry("user", "skill", "deploy").headline.status == "active"


def test_a_host_speaks_for_the_user_only_while_it_is_trusted(engine: Engine) -> None:
    engine.crew.enlist(DEPLOY, by=AGENT)
    trust = engine.do(TrustHost("x"), by=USER)
    engine.crew.change_status(ActivateEntry("skill", "deploy"), by=AGENT)
    engine.log.retract([trust.position], reason="a mistake", actor="user")
    engine.crew.enlist(EnlistEntry("skill", "other", SKILL), by=AGENT)
    with pytest.raises(Forbidden):
        engine.crew.change_status(ActivateEntry("skill", "other"), by=AGENT)


def test_a_name_is_taken_once_and_free_again_after_removal(engine: Engine) -> None:
    engine.crew.enlist(DEPLOY, by=USER)
    with pytest.raises(Conflict):
        engine.crew.enlist(DEPLOY, by=USER)
    engine.crew.change_status(RemoveEntry("skill", "deploy", force=True), by=USER)
    assert names(engine) == []
    with pytest.raises(NotFound):
        engine.crew.find_entry("user", "skill", "deploy")
    assert engine.crew.enlist(DEPLOY, by=USER).what == "new"


def test_entries_are_visible_in_scope_and_to_their_author(engine: Engine) -> None:
    engine.crew.enlist(DEPLOY, by=USER)
    engine.crew.enlist(EnlistEntry("skill", "own", SKILL), by=AGENT)
    engine.crew.enlist(EnlistEntry("skill", "open", SKILL, scope="project:a"), by=USER)
    assert names(engine, "agent:x") == ["own"]
    assert names(engine, "agent:unknown") == []
    engine.do(GrantAudience("agent:x", ("project:*",)), by=USER)
    assert names(engine, "agent:x") == ["open", "own"]
    with pytest.raises(NotFound):
        engine.crew.find_entry("agent:x", "skill", "deploy")


@pytest.mark.promise("P-CREW-4")
def test_a_cited_memory_is_immune_until_the_skill_is_archived(engine: Engine) -> None:
    engine.do(RememberItem("mem-1", "The build broke on Friday"), by=AGENT)
    engine.crew.enlist(EnlistEntry("skill", "deploy", SKILL, evidence=("mem-1",)), by=USER)
    assert citers(engine, "mem-1") == ["skill:deploy"]
    with pytest.raises(Forbidden):
        engine.do(RetireItem("mem-1"), by=AGENT)
    engine.crew.change_status(ArchiveEntry("skill", "deploy", force=True), by=USER)
    assert citers(engine, "mem-1") == []
    engine.crew.change_status(ActivateEntry("skill", "deploy"), by=USER)
    assert citers(engine, "mem-1") == ["skill:deploy"]
    with engine.reading() as reader:
        found = citation_links(reader, load_viewer(reader, "user"), "mem-1")
    assert [link.until is None for link in found] == [False, True]


def test_retracting_a_skill_retracts_its_citations(engine: Engine) -> None:
    engine.do(RememberItem("mem-1", "The build broke on Friday"), by=AGENT)
    done = engine.crew.enlist(EnlistEntry("skill", "deploy", SKILL, evidence=("mem-1",)), by=USER)
    engine.log.retract([done.positions[0]], reason="a mistake", actor="user")
    assert names(engine) == []
    assert citers(engine, "mem-1") == []


def test_retracting_an_archiving_restores_the_citation(engine: Engine) -> None:
    engine.do(RememberItem("mem-1", "The build broke on Friday"), by=AGENT)
    engine.crew.enlist(EnlistEntry("skill", "deploy", SKILL, evidence=("mem-1",)), by=USER)
    gone = engine.crew.change_status(ArchiveEntry("skill", "deploy", force=True), by=USER)
    engine.log.retract([gone.facts[0].position], reason="a mistake", actor="user")
    assert engine.crew.find_entry("user", "skill", "deploy").headline.status == "active"
    assert citers(engine, "mem-1") == ["skill:deploy"]


def test_a_revision_shows_the_newest_text_and_older_texts_as_of_then(engine: Engine) -> None:
    first = engine.crew.enlist(DEPLOY, by=USER)
    engine.crew.revise(ReviseEntry("skill", "deploy", Skill("Ships it well", "b")), by=USER)
    assert engine.crew.entry_summaries("user", "skill")[0].description == "Ships it well"
    with engine.reading(as_of=first.positions[-1]) as reader:
        (then,) = entry_summaries(reader, load_viewer(reader, "user"), "skill")
    assert then.description == "Ships a release"


def test_what_is_listed_depends_on_the_status_asked_for(engine: Engine) -> None:
    engine.crew.enlist(DEPLOY, by=USER)
    engine.crew.change_status(ArchiveEntry("skill", "deploy", force=True), by=USER)
    assert names(engine) == []
    assert [e.name for e in engine.crew.entry_summaries("user", "skill", ("archived",))] == [
        "deploy"
    ]
    with pytest.raises(Invalid, match="not a status"):
        engine.crew.entry_summaries("user", "skill", ("hidden",))


def test_a_skills_history_holds_each_promoted_lesson_once(engine: Engine) -> None:
    engine.crew.enlist(DEPLOY, by=USER)
    for number in (1, 2):
        engine.lessons.propose(
            ProposeLesson(
                "", f"rule {number}", "b", author="pack", pack_id="p", external_id=str(number),
                seed_as_promoted=number == 1, target_skill="deploy",
            ),
            by=USER,
        )  # fmt: skip
    (entry,) = engine.crew.find_entry("user", "skill", "deploy").history
    assert entry.author == "pack"
    assert engine.crew.find_entry("user", "skill", "deploy").history == (entry,)


def test_a_history_has_the_trigger_of_each_lesson_that_the_asker_may_see(
    engine: Engine,
) -> None:
    engine.crew.enlist(EnlistEntry("skill", "deploy", SKILL, scope="global"), by=USER)
    engine.do(ProposeLesson("les-1", "Look first", "b", target_skill="deploy"), by=AGENT)
    told = Narrative("a red build", "it was ignored", "look first", "inferred")
    narrated = engine.lessons.narrate("les-1", by=USER, narrative=told)
    assert isinstance(narrated, LessonView)
    promoted = LessonPromoted("les-1", narrated.digest, ())
    for number in (1, 2):
        engine.log.append(
            "lesson:les-1", [Draft(promoted, (narrated.position,))], actor=f"engine:{number}"
        )
    engine.do(GrantAudience("agent:y", ("global",)), by=USER)
    (entry,) = engine.crew.find_entry("user", "skill", "deploy").history
    assert (entry.lesson_id, entry.trigger, entry.author) == ("les-1", "a red build", "agent")
    assert engine.crew.find_entry("agent:y", "skill", "deploy").history == ()


def test_rebuilding_the_view_gives_the_same_rows(engine: Engine) -> None:
    engine.do(RememberItem("mem-1", "The build broke on Friday"), by=AGENT)
    engine.crew.enlist(EnlistEntry("skill", "deploy", SKILL, evidence=("mem-1",)), by=USER)
    engine.crew.revise(ReviseEntry("skill", "deploy", Skill("Ships it well", "b")), by=USER)
    engine.crew.change_status(ArchiveEntry("skill", "deploy", force=True), by=USER)
    before = engine.crew.find_entry("user", "skill", "deploy")
    rebuild_projections(engine.log, ["crew_book"])
    assert engine.crew.find_entry("user", "skill", "deploy") == before
