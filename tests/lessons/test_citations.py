"""What lessons stand on: links that open and close with them, and nothing else."""

import msgspec
import pytest
from tests.lessons.fixtures import AGENT, ENGINE, HELPER, NARRATIVE, SHORT, USER, Classroom

from everloop.errors import Forbidden
from everloop.lessons.citers import known_citers
from everloop.lessons.crew.commands import EnlistEntry
from everloop.lessons.crew.events import Persona
from everloop.lessons.model.commands import DiscardLesson, SupersedeLesson
from everloop.lessons.model.events import MemoryEvidence
from everloop.log.integrity.rebuild import rebuild
from everloop.memory.model.commands import (
    DemoteItem,
    GrantAudience,
    RememberItem,
    RetireItem,
    ReviseItem,
)
from everloop.memory.projections.citations import Citations, citation_counts, links, user_citers
from everloop.memory.projections.queries import asker


def counts(room: Classroom, item_id: str = "mem-1") -> Citations | None:
    """How often a memory is cited."""
    with room.log.reading() as reader:
        return citation_counts(reader, asker(reader, "user"), [item_id]).get(item_id)


def citers(room: Classroom, item_id: str = "mem-1") -> list[str]:
    """What a user wrote that stands on a memory."""
    with room.log.reading() as reader:
        return user_citers(reader, item_id)


def discard(room: Classroom, lesson_id: str = "les-1") -> None:
    """Let a lesson go, as the user."""
    room.teacher.discard(DiscardLesson(lesson_id, force=True), by=USER)


@pytest.mark.promise("P-LES-4")
def test_a_users_lesson_protects_its_memory_from_the_same_append_on(room: Classroom) -> None:
    room.remember(by=AGENT)
    room.propose("mem-1", by=USER)
    assert room.kinds() == ["lesson_proposed", "cited"]
    assert counts(room) == Citations(open=1, by_user=1)
    with pytest.raises(Forbidden, match="stands on it"):
        room.engine.do(RetireItem("mem-1"), by=ENGINE)


def test_an_agents_lesson_cites_and_does_not_protect(room: Classroom) -> None:
    room.remember(by=AGENT)
    room.propose("mem-1", by=AGENT)
    assert counts(room) == Citations(open=1, by_user=0)
    room.engine.do(RetireItem("mem-1"), by=ENGINE)


@pytest.mark.parametrize("author", ["user", "pack"])
def test_what_a_host_relays_protects_too(room: Classroom, author: str) -> None:
    room.remember(by=AGENT)
    pack = "p" if author == "pack" else ""
    room.propose("mem-1", new=msgspec.structs.replace(SHORT, author=author, pack_id=pack))
    assert citers(room) == ["les-1"]


@pytest.mark.promise("P-LES-4")
def test_discarding_releases_and_taking_that_back_protects_again(room: Classroom) -> None:
    room.remember(by=AGENT)
    room.propose("mem-1", by=USER)
    discard(room)
    assert counts(room) == Citations()
    assert room.kinds()[-2:] == ["lesson_discarded", "citation_closed"]
    room.log.retract([room.log.head - 1], reason="slip", actor="user")
    assert citers(room) == ["les-1"]


def test_superseding_releases(room: Classroom) -> None:
    room.remember(by=AGENT)
    room.propose("mem-1", by=USER)
    room.propose(lesson_id="les-2")
    room.teacher.supersede(SupersedeLesson("les-1", "les-2", force=True), by=USER)
    assert citers(room) == []
    discard(room)
    assert counts(room) == Citations()


def test_a_link_survives_a_rewording_and_a_compression_and_is_released_after_both(
    room: Classroom,
) -> None:
    first = room.remember(by=AGENT)
    room.propose("mem-1", by=USER)
    room.engine.do(ReviseItem("mem-1", text="In other words: stale."), by=AGENT)
    revised = room.log.head
    assert citers(room) == ["les-1"]
    summary = RememberItem(
        "gist", "Stale.", kind="summary", derived_from=("mem-1",), because=(first, revised)
    )
    gist = room.engine.do(summary, by=ENGINE).position
    room.engine.do(DemoteItem("mem-1", "gist", (gist,)), by=ENGINE)
    assert (citers(room), citers(room, "gist")) == (["les-1"], ["les-1"])
    discard(room)
    assert (citers(room), citers(room, "gist")) == ([], [])
    room.engine.do(ReviseItem("mem-1", text="Once more: stale."), by=AGENT)
    assert citers(room) == []


def test_retracting_a_lesson_takes_its_links_with_it(room: Classroom) -> None:
    room.remember(by=AGENT)
    proposed = room.propose("mem-1", by=USER)
    room.log.retract([proposed.position], reason="slip", actor="user")
    assert counts(room) == Citations()


def test_counting_anew_gives_the_same(room: Classroom) -> None:
    for name in ("mem-1", "mem-2"):
        room.remember(name, by=AGENT)
        room.propose(name, by=USER, lesson_id=f"les-of-{name}")
    discard(room, "les-of-mem-2")
    before = counts(room), counts(room, "mem-2")
    rebuild(room.log)
    assert (counts(room), counts(room, "mem-2")) == before
    assert before == (Citations(1, 1), Citations())


def test_a_narrative_opens_links_once(room: Classroom) -> None:
    room.remember(by=AGENT)
    room.remember("mem-2", by=AGENT)
    room.propose("mem-1", by=USER)
    named = (MemoryEvidence("mem-1"), MemoryEvidence("mem-2"), MemoryEvidence("nowhere"))
    told = msgspec.structs.replace(NARRATIVE, evidence=named)
    for _ in range(2):
        room.teacher.narrate("les-1", by=USER, narrative=told)
    assert room.kinds().count("cited") == 2
    assert citers(room, "mem-2") == ["les-1"]


def test_a_memory_that_the_author_may_not_see_gets_no_link(room: Classroom) -> None:
    room.remember(scope="project:secret")
    room.engine.do(GrantAudience(HELPER.actor, ("user",)))
    room.propose("mem-1", by=HELPER, new=msgspec.structs.replace(SHORT, author="user"))
    assert room.kinds() == ["lesson_proposed"]
    assert counts(room) == Citations()


@pytest.mark.promise("P-LES-5")
def test_who_may_not_see_a_citer_is_told_neither_its_name_nor_that_there_is_one(
    room: Classroom,
) -> None:
    room.remember("mem-1", scope="team:t")
    secret = msgspec.structs.replace(SHORT, scope="project:p", author="user")
    shared = msgspec.structs.replace(SHORT, scope="team:t", author="user")
    room.propose("mem-1", new=secret, lesson_id="les-secret", by=USER)
    room.propose("mem-1", new=shared, lesson_id="les-shared", by=USER)
    for name, scope in (("hidden", "project:p"), ("open", "team:t")):
        entry = Persona(title=name, description="Careful.", body="Be careful.")
        command = EnlistEntry("persona", name, entry, scope=scope, evidence=("mem-1",))
        room.engine.do(command, by=USER)
    room.engine.do(GrantAudience("agent:x", ("team:t",)))
    with room.log.reading() as reader:
        who, all_seeing = asker(reader, "agent:x"), asker(reader, AGENT.actor)
        told = [link.citer for link in links(reader, who, "mem-1", known_citers)]
        assert told == ["les-shared", "persona:open"]
        assert citation_counts(reader, who, ["mem-1"], known_citers) == {"mem-1": Citations(2, 2)}
        assert citation_counts(reader, who, ["mem-1"]) == {"mem-1": Citations()}
        assert len(links(reader, all_seeing, "mem-1", known_citers)) == 4
