"""Decisions about skills, personas and teams: permissions and citations."""

from typing import Any

import pytest

from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.lessons.crew import decide
from everloop.lessons.crew.commands import (
    ActivateEntry,
    ArchiveEntry,
    EnlistEntry,
    RemoveEntry,
    ReviseEntry,
)
from everloop.lessons.crew.events import (
    CrewActivated,
    CrewArchived,
    CrewRemoved,
    CrewWritten,
    Member,
    Persona,
    Skill,
    Team,
)
from everloop.lessons.crew.state import CREW_ENTRY, CrewEntry
from everloop.lessons.model.decision_context import CitedItem, DecisionLookup
from everloop.log import Context, DecisionContext, Draft, Event
from everloop.memory.model.events import CitationClosed, Cited
from everloop.testing.deterministic import NEW_YEAR, fact, given

SKILL = Skill("Ships a release", "Run the checks first.")
AGENT = "agent:x"
HOST = "agent:trusted"
NEAR = DecisionLookup(
    trusted=frozenset((HOST,)),
    audiences={AGENT: ("*",), HOST: ("*",)},
    items={"mem-1": CitedItem(7, "user", (), "x"), "mem-2": CitedItem(8, "user", (), "y")},
)


def asking(actor: str, around: DecisionLookup = NEAR) -> DecisionContext:
    return DecisionContext(Context(actor=actor, session="s1"), NEW_YEAR, around)


def events(drafts: list[Draft]) -> list[Event]:
    return [draft.event for draft in drafts]


def enlist(**more: Any) -> EnlistEntry:
    return EnlistEntry("skill", "deploy", SKILL, **more)


def entry(*happened: tuple[Event, str]) -> CrewEntry:
    """The state after events by actors."""
    state = None
    for number, (event, actor) in enumerate(happened, start=1):
        state = CREW_ENTRY.evolve(state, fact(event, number, actor=actor))
    assert state is not None
    return state


def written(actor: str, **more: Any) -> CrewEntry:
    """An entry that an actor enlisted."""
    drafts = decide.enlist_entry(None, enlist(**more), asking(actor))
    return entry(*((event, actor) for event in events(drafts)))


@pytest.mark.parametrize(
    ("actor", "author", "recorded", "status"),
    [
        ("user", "agent", "user", "active"),
        (AGENT, "agent", "agent", "draft"),
        (AGENT, "user", "user", "draft"),
        (HOST, "user", "user", "active"),
        (HOST, "agent", "agent", "draft"),
    ],
)
def test_a_new_entry_is_active_only_if_the_user_adds_it(
    actor: str, author: str, recorded: str, status: str
) -> None:
    found = written(actor, author=author)
    assert (found.author, found.status) == (recorded, status)


def test_a_pack_is_active_at_once_only_if_the_user_or_a_trusted_host_installs_it() -> None:
    statuses = {actor: written(actor, pack_id="tidy").status for actor in ("user", HOST, AGENT)}
    assert statuses == {"user": "active", HOST: "active", AGENT: "draft"}
    assert written(AGENT, pack_id="tidy").author == "pack"


def test_a_second_entry_of_a_name_is_refused() -> None:
    with pytest.raises(Conflict, match="already"):
        decide.enlist_entry(written("user"), enlist(), asking("user"))
    with pytest.raises(Conflict):
        decide.enlist_entry(written("user"), enlist(pack_id="tidy"), asking("user"))


def test_installing_a_pack_twice_changes_nothing_and_a_newer_one_updates_it() -> None:
    known = written("user", pack_id="tidy")
    assert decide.enlist_entry(known, enlist(pack_id="tidy"), asking("user")) == []
    newer = EnlistEntry("skill", "deploy", Skill("Ships it", "b"), pack_id="tidy")
    (draft,) = decide.enlist_entry(known, newer, asking("user"))
    assert draft.because == (known.position,)
    with pytest.raises(Forbidden):
        decide.enlist_entry(known, newer, asking(AGENT))


def test_the_user_activates_what_an_agent_installed_before() -> None:
    known = written(AGENT, pack_id="tidy")
    (draft,) = decide.enlist_entry(known, enlist(pack_id="tidy"), asking("user"))
    assert isinstance(draft.event, CrewWritten)
    assert draft.event.status == "active"


@pytest.mark.parametrize("gone", ["archived", "removed", "edited"])
def test_a_pack_restores_nothing_and_overwrites_no_edit(gone: str) -> None:
    first = written("user", pack_id="tidy")
    ways = {
        "archived": CrewArchived("skill", "deploy", "", True),
        "removed": CrewRemoved("skill", "deploy", "", True),
        "edited": decide.revise_entry(
            first, ReviseEntry("skill", "deploy", Skill("Mine", "b")), asking("user")
        )[0].event,
    }
    state = CREW_ENTRY.evolve(first, fact(ways[gone], 2))
    newer = EnlistEntry("skill", "deploy", Skill("Ships it", "b"), pack_id="tidy")
    assert decide.enlist_entry(state, newer, asking("user")) == []


def test_only_the_user_adds_a_removed_entry_again() -> None:
    gone = CREW_ENTRY.evolve(written(AGENT), fact(CrewRemoved("skill", "deploy", "", False), 2))
    with pytest.raises(Forbidden):
        decide.enlist_entry(gone, enlist(), asking(AGENT))
    (draft,) = decide.enlist_entry(gone, enlist(), asking("user"))
    assert draft.because == ()
    again = CREW_ENTRY.evolve(gone, fact(draft.event, 3))
    assert (again.position, again.status) == (3, "active")


def test_an_agent_revises_only_what_it_wrote_and_it_is_a_draft_again() -> None:
    revise = ReviseEntry("skill", "deploy", Skill("Ships it well", "b"))
    own = CREW_ENTRY.evolve(written(AGENT), fact(CrewActivated("skill", "deploy"), 2))
    (draft,) = decide.revise_entry(own, revise, asking(AGENT))
    assert isinstance(draft.event, CrewWritten)
    assert draft.event.status == "draft"
    for author, actor in (("user", AGENT), (AGENT, "agent:other")):
        with pytest.raises(Forbidden):
            decide.revise_entry(written(author), revise, asking(actor))


def test_a_revision_that_changes_nothing_records_nothing() -> None:
    known = written("user")
    assert decide.revise_entry(known, ReviseEntry("skill", "deploy", SKILL), asking("user")) == []


def test_an_agent_cannot_activate_an_entry() -> None:
    command = ActivateEntry("skill", "deploy")
    with pytest.raises(Forbidden):
        decide.activate_entry(written(AGENT), command, asking(AGENT))
    assert events(decide.activate_entry(written(AGENT), command, asking(HOST))) == [
        CrewActivated("skill", "deploy")
    ]
    assert decide.activate_entry(written("user"), command, asking(AGENT)) == []


RETIREMENTS = [
    (ArchiveEntry, decide.archive_entry, CrewArchived),
    (RemoveEntry, decide.remove_entry, CrewRemoved),
]


@pytest.mark.parametrize(("command", "act", "event"), RETIREMENTS)
@pytest.mark.parametrize("author", ["user", "pack"])
def test_only_the_user_retires_a_users_entry_and_only_with_force(
    command: Any, act: Any, event: Any, author: str
) -> None:
    known = written("user", pack_id="tidy" if author == "pack" else "")
    for actor in ("user", AGENT, HOST):
        with pytest.raises(Forbidden):
            act(known, command("skill", "deploy"), asking(actor))
    with pytest.raises(Forbidden):
        act(known, command("skill", "deploy", force=True), asking(AGENT))
    for actor in ("user", HOST):
        drafts = act(known, command("skill", "deploy", "old", True), asking(actor))
        assert events(drafts) == [event("skill", "deploy", "old", True)]


@pytest.mark.promise("P-CREW-4")
@pytest.mark.parametrize(("command", "act", "event"), RETIREMENTS)
def test_retiring_releases_every_citation_in_the_same_append(
    command: Any, act: Any, event: Any
) -> None:
    known = written("user", evidence=("mem-1", "mem-2"))
    first, *closed = act(known, command("skill", "deploy", force=True), asking("user"))
    assert isinstance(first.event, event)
    assert events(closed) == [
        CitationClosed("mem-1", "skill:deploy"),
        CitationClosed("mem-2", "skill:deploy"),
    ]
    assert [(draft.because, draft.beside) for draft in closed] == [((7,), (0,)), ((8,), (0,))]


def test_repeating_a_retirement_changes_nothing() -> None:
    archived = CREW_ENTRY.evolve(
        written(AGENT), fact(CrewArchived("skill", "deploy", "", False), 2)
    )
    assert decide.archive_entry(archived, ArchiveEntry("skill", "deploy"), asking(AGENT)) == []
    removed = CREW_ENTRY.evolve(archived, fact(CrewRemoved("skill", "deploy", "", False), 3))
    assert decide.remove_entry(removed, RemoveEntry("skill", "deploy"), asking(AGENT)) == []
    with pytest.raises(NotFound):
        decide.archive_entry(removed, ArchiveEntry("skill", "deploy"), asking(AGENT))


def test_activating_an_archived_entry_opens_its_citations_again() -> None:
    known = written("user", evidence=("mem-1",))
    drafts = decide.archive_entry(known, ArchiveEntry("skill", "deploy", "", True), asking("user"))
    for number, draft in enumerate(drafts, start=3):
        known = CREW_ENTRY.evolve(known, fact(draft.event, number))
    assert known.cited == frozenset()
    back = decide.activate_entry(known, ActivateEntry("skill", "deploy"), asking("user"))
    assert events(back)[1:] == [Cited("mem-1", "skill:deploy", True)]


def test_evidence_is_cited_in_the_append_that_writes_the_entry() -> None:
    drafts = decide.enlist_entry(None, enlist(evidence=("mem-1",)), asking(AGENT))
    assert events(drafts)[1:] == [Cited("mem-1", "skill:deploy", False)]
    assert (drafts[1].because, drafts[1].beside) == ((7,), (0,))


def test_a_revision_opens_and_closes_citations_and_the_user_takes_them_over() -> None:
    known = written(AGENT, evidence=("mem-1",))
    drafts = decide.revise_entry(
        known, ReviseEntry("skill", "deploy", evidence=("mem-2",)), asking("user")
    )
    assert events(drafts)[1:] == [
        Cited("mem-2", "skill:deploy", True),
        CitationClosed("mem-1", "skill:deploy"),
    ]


def test_a_missing_or_hidden_memory_cannot_be_cited() -> None:
    with pytest.raises(NotFound, match="mem-9"):
        decide.enlist_entry(None, enlist(evidence=("mem-9",)), asking("user"))
    blind = DecisionLookup(items=NEAR.items)
    with pytest.raises(NotFound, match="mem-1"):
        decide.enlist_entry(None, enlist(evidence=("mem-1",)), asking(AGENT, blind))


def test_a_missing_entry_cannot_be_changed() -> None:
    for command, act in (
        (ReviseEntry("team", "home"), decide.revise_entry),
        (ActivateEntry("team", "home"), decide.activate_entry),
        (RemoveEntry("team", "home"), decide.remove_entry),
    ):
        with pytest.raises(NotFound, match="no team 'home'"):
            given(CREW_ENTRY).when(act, command)


@pytest.mark.parametrize(
    ("sort", "name", "profile", "problem"),
    [
        ("skill", "Deploy", SKILL, "is not a name"),
        ("skill", "a" * 65, SKILL, "is not a name"),
        ("skill", "a--b", SKILL, "is not a name"),
        ("skill", "x", Skill(" ", "b"), "description is empty"),
        ("skill", "x", Skill("d" * 1_025, "b"), "1,024 are allowed"),
        ("skill", "x", Skill("d", "b", type="magic"), "type 'magic'"),
        ("skill", "x", Skill("d", "b", context="new"), "context 'new'"),
        ("skill", "x", Skill("d", "b", activation="never"), "activation 'never'"),
        ("skill", "x", Skill("d", "b", activation="path-triggered"), "has no paths"),
        ("persona", "x", SKILL, "cannot have the fields"),
        ("persona", "x", Persona("", "d", "b"), "title is empty"),
        ("team", "x", Team("T", "d", "b", (Member("user", "a"),) * 2), "twice"),
        ("team", "x", Team("T", "d", "b", (Member("user", "a b"),)), "not a team member"),
    ],
)
def test_a_malformed_entry_is_refused_with_the_field(
    sort: Any, name: str, profile: Any, problem: str
) -> None:
    with pytest.raises(Invalid, match=problem):
        given(CREW_ENTRY).when(decide.enlist_entry, EnlistEntry(sort, name, profile))


def test_names_and_descriptions_may_be_exactly_as_long_as_allowed() -> None:
    command = EnlistEntry("skill", "a" * 64, Skill("d" * 1_024, "b"))
    assert len(given(CREW_ENTRY).when(decide.enlist_entry, command)) == 1
