"""Citations of memories open and close with their lessons."""

import msgspec
import pytest
from tests.lessons.fixtures import AGENT, ENGINE, HELPER, NARRATIVE, SHORT, USER, LessonHarness

from everloop.errors import Forbidden
from everloop.lessons.citers import visible_citer_names
from everloop.lessons.crew.commands import EnlistEntry
from everloop.lessons.crew.events import Persona
from everloop.lessons.model.commands import DiscardLesson, SupersedeLesson
from everloop.lessons.model.events import MemoryEvidence
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.memory.model.commands import (
    DemoteItem,
    GrantAudience,
    RememberItem,
    RetireItem,
    ReviseItem,
)
from everloop.memory.projections.citations import (
    CitationCounts,
    citation_counts,
    citation_links,
    user_citers,
)
from everloop.memory.projections.queries import load_viewer


def counts(harness: LessonHarness, item_id: str = "mem-1") -> CitationCounts | None:
    """How often a memory is cited."""
    with harness.log.reading() as reader:
        return citation_counts(reader, load_viewer(reader, "user"), [item_id]).get(item_id)


def citers(harness: LessonHarness, item_id: str = "mem-1") -> list[str]:
    """The users' entries that cite a memory."""
    with harness.log.reading() as reader:
        return user_citers(reader, item_id)


def discard(harness: LessonHarness, lesson_id: str = "les-1") -> None:
    """Discard a lesson, as the user."""
    harness.lessons.discard(DiscardLesson(lesson_id, force=True), by=USER)


@pytest.mark.promise("P-LES-4")
def test_a_users_lesson_protects_its_memory_from_the_same_append_on(harness: LessonHarness) -> None:
    harness.remember(by=AGENT)
    harness.propose("mem-1", by=USER)
    assert harness.kinds() == ["lesson_proposed", "cited"]
    assert counts(harness) == CitationCounts(open=1, by_user=1)
    with pytest.raises(Forbidden, match="stands on it"):
        harness.engine.do(RetireItem("mem-1"), by=ENGINE)


def test_an_agents_lesson_cites_its_memory_without_protecting_it(harness: LessonHarness) -> None:
    harness.remember(by=AGENT)
    harness.propose("mem-1", by=AGENT)
    assert counts(harness) == CitationCounts(open=1, by_user=0)
    harness.engine.do(RetireItem("mem-1"), by=ENGINE)


@pytest.mark.parametrize("author", ["user", "pack"])
def test_a_relayed_users_lesson_protects_its_memory_too(
    harness: LessonHarness, author: str
) -> None:
    harness.remember(by=AGENT)
    pack = "p" if author == "pack" else ""
    harness.propose("mem-1", new=msgspec.structs.replace(SHORT, author=author, pack_id=pack))
    assert citers(harness) == ["les-1"]


@pytest.mark.promise("P-LES-4")
def test_discarding_releases_the_memory_and_retracting_that_protects_it_again(
    harness: LessonHarness,
) -> None:
    harness.remember(by=AGENT)
    harness.propose("mem-1", by=USER)
    discard(harness)
    assert counts(harness) == CitationCounts()
    assert harness.kinds()[-2:] == ["lesson_discarded", "citation_closed"]
    harness.log.retract([harness.log.head - 1], reason="slip", actor="user")
    assert citers(harness) == ["les-1"]


def test_superseding_releases_the_memory(harness: LessonHarness) -> None:
    harness.remember(by=AGENT)
    harness.propose("mem-1", by=USER)
    harness.propose(lesson_id="les-2")
    harness.lessons.supersede(SupersedeLesson("les-1", "les-2", force=True), by=USER)
    assert citers(harness) == []
    discard(harness)
    assert counts(harness) == CitationCounts()


def test_a_citation_survives_an_edit_and_a_compression_and_is_released_after_both(
    harness: LessonHarness,
) -> None:
    first = harness.remember(by=AGENT)
    harness.propose("mem-1", by=USER)
    harness.engine.do(ReviseItem("mem-1", text="In other words: stale."), by=AGENT)
    revised = harness.log.head
    assert citers(harness) == ["les-1"]
    summary = RememberItem(
        "gist", "Stale.", kind="summary", derived_from=("mem-1",), because=(first, revised)
    )
    gist = harness.engine.do(summary, by=ENGINE).position
    harness.engine.do(DemoteItem("mem-1", "gist", (gist,)), by=ENGINE)
    assert (citers(harness), citers(harness, "gist")) == (["les-1"], ["les-1"])
    discard(harness)
    assert (citers(harness), citers(harness, "gist")) == ([], [])
    harness.engine.do(ReviseItem("mem-1", text="Once more: stale."), by=AGENT)
    assert citers(harness) == []


def test_retracting_a_lesson_retracts_its_citations(harness: LessonHarness) -> None:
    harness.remember(by=AGENT)
    proposed = harness.propose("mem-1", by=USER)
    harness.log.retract([proposed.position], reason="slip", actor="user")
    assert counts(harness) == CitationCounts()


def test_rebuilt_citation_counts_equal_the_live_ones(harness: LessonHarness) -> None:
    for name in ("mem-1", "mem-2"):
        harness.remember(name, by=AGENT)
        harness.propose(name, by=USER, lesson_id=f"les-of-{name}")
    discard(harness, "les-of-mem-2")
    before = counts(harness), counts(harness, "mem-2")
    rebuild_projections(harness.log)
    assert (counts(harness), counts(harness, "mem-2")) == before
    assert before == (CitationCounts(1, 1), CitationCounts())


def test_a_narrative_opens_each_citation_once(harness: LessonHarness) -> None:
    harness.remember(by=AGENT)
    harness.remember("mem-2", by=AGENT)
    harness.propose("mem-1", by=USER)
    named = (MemoryEvidence("mem-1"), MemoryEvidence("mem-2"), MemoryEvidence("nowhere"))
    told = msgspec.structs.replace(NARRATIVE, evidence=named)
    for _ in range(2):
        harness.lessons.narrate("les-1", by=USER, narrative=told)
    assert harness.kinds().count("cited") == 2
    assert citers(harness, "mem-2") == ["les-1"]


def test_a_memory_that_the_author_may_not_see_is_not_cited(harness: LessonHarness) -> None:
    harness.remember(scope="project:secret")
    harness.engine.do(GrantAudience(HELPER.actor, ("user",)))
    harness.propose("mem-1", by=HELPER, new=msgspec.structs.replace(SHORT, author="user"))
    assert harness.kinds() == ["lesson_proposed"]
    assert counts(harness) == CitationCounts()


@pytest.mark.promise("P-LES-5")
def test_a_hidden_citer_is_neither_named_nor_counted(
    harness: LessonHarness,
) -> None:
    harness.remember("mem-1", scope="team:t")
    secret = msgspec.structs.replace(SHORT, scope="project:p", author="user")
    shared = msgspec.structs.replace(SHORT, scope="team:t", author="user")
    harness.propose("mem-1", new=secret, lesson_id="les-secret", by=USER)
    harness.propose("mem-1", new=shared, lesson_id="les-shared", by=USER)
    for name, scope in (("hidden", "project:p"), ("open", "team:t")):
        entry = Persona(title=name, description="Careful.", body="Be careful.")
        command = EnlistEntry("persona", name, entry, scope=scope, evidence=("mem-1",))
        harness.engine.do(command, by=USER)
    harness.engine.do(GrantAudience("agent:x", ("team:t",)))
    with harness.log.reading() as reader:
        who, all_seeing = load_viewer(reader, "agent:x"), load_viewer(reader, AGENT.actor)
        told = [link.citer for link in citation_links(reader, who, "mem-1", visible_citer_names)]
        assert told == ["les-shared", "persona:open"]
        assert citation_counts(reader, who, ["mem-1"], visible_citer_names) == {
            "mem-1": CitationCounts(2, 2)
        }
        assert citation_counts(reader, who, ["mem-1"]) == {"mem-1": CitationCounts()}
        assert len(citation_links(reader, all_seeing, "mem-1", visible_citer_names)) == 4
