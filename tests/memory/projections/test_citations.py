"""Citations and immunity: clean-up never touches an item that a user cites."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.memory.fixtures import AGENT, ENGINE, USER, Notebook

from everloop.errors import Forbidden, NotFound
from everloop.log import Context
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.memory.model.commands import (
    CiteItem,
    CloseCitation,
    GrantAudience,
    PinItem,
    RememberItem,
    ReviseItem,
)
from everloop.memory.projections.citations import (
    CitationCounts,
    citation_counts,
    citation_links,
    user_citers,
)


@pytest.fixture
def notes(tmp_path: Path) -> Generator[Notebook]:
    """A notebook with two items by an agent."""
    notebook = Notebook(tmp_path)
    notebook.say("a", "b")
    yield notebook
    notebook.close()


def citers(notes: Notebook, item_id: str) -> list[str]:
    """The user's citers of an item."""
    with notes.reading() as reader:
        return user_citers(reader, item_id)


def counts(notes: Notebook, item_id: str, principal: str = "user") -> CitationCounts | None:
    """The citation counts of an item, for a principal."""
    with notes.reading() as reader:
        return citation_counts(reader, notes.who(reader, principal), [item_id]).get(item_id)


def test_the_engine_may_retire_an_item_without_citations(notes: Notebook) -> None:
    notes.retire("a")
    assert notes.listed() == {"b"}


def test_l125_a_citation_protects_from_the_moment_it_is_made(notes: Notebook) -> None:
    notes.cite("a")
    assert counts(notes, "a") == CitationCounts(open=1, by_user=1)
    with pytest.raises(Forbidden, match="a user wrote 'a' or stands on it"):
        notes.retire("a")


def test_l126_recounting_loses_no_link_and_restores_no_closed_one(notes: Notebook) -> None:
    notes.cite("a", "skill:review")
    notes.cite("a", "lesson:1")
    notes.let_go("a", "lesson:1")
    rebuild_projections(notes.log)
    assert citers(notes, "a") == ["skill:review"]


def test_l127_a_closed_citation_no_longer_protects(notes: Notebook) -> None:
    notes.cite("a", "skill:review")
    notes.let_go("a", "skill:review")
    assert counts(notes, "a") == CitationCounts()
    notes.retire("a")
    assert notes.listed() == {"b"}


def test_l129_closing_the_citation_of_a_source_releases_its_summary_too(notes: Notebook) -> None:
    notes.make("s", "a", "b")
    notes.cite("a")
    assert citers(notes, "s") == ["lesson:1"]
    notes.let_go("a")
    assert citers(notes, "s") == []


def test_l130_remembering_an_item_again_keeps_its_citations(notes: Notebook) -> None:
    notes.cite("a")
    notes.do(RememberItem("a", "a is about a."), Context(actor="pack:x"))
    assert citers(notes, "a") == ["lesson:1"]


def test_citing_twice_opens_one_link(notes: Notebook) -> None:
    notes.cite("a")
    notes.cite("a")
    assert counts(notes, "a") == CitationCounts(open=1, by_user=1)


def test_an_agents_link_is_counted_but_does_not_protect(notes: Notebook) -> None:
    notes.cite("a", by_user=False)
    assert counts(notes, "a") == CitationCounts(open=1, by_user=0)
    notes.retire("a")
    assert notes.listed() == {"b"}


def test_the_derivatives_and_sources_of_a_cited_item_are_immune(
    notes: Notebook,
) -> None:
    notes.make("s", "a", "b")
    notes.say("c")
    notes.make("t", "s", "c")
    notes.cite("s")
    assert [citers(notes, item) for item in ("a", "s", "t")] == [["lesson:1"]] * 3
    assert citers(notes, "c") == []


def test_two_sources_of_one_summary_do_not_protect_each_other(notes: Notebook) -> None:
    notes.make("s", "a", "b")
    notes.cite("a")
    assert citers(notes, "b") == []
    notes.demote("b", "s")
    assert notes.listed() == {"a", "s"}


def test_retiring_the_citer_closes_the_link_and_undoing_it_reopens_the_link(
    notes: Notebook,
) -> None:
    notes.say("why")
    notes.cite("a", "why")
    retired = notes.retire("why", USER)
    assert citers(notes, "a") == []
    notes.log.retract([retired.position], reason="slip", actor="user")
    assert citers(notes, "a") == ["why"]


def test_a_demoted_citer_still_protects(notes: Notebook) -> None:
    notes.say("why")
    notes.make("s", "why")
    notes.cite("a", "why")
    notes.demote("why", "s")
    assert citers(notes, "a") == ["why"]


def test_retracting_the_citer_takes_the_link_with_it(notes: Notebook) -> None:
    position = notes.say("why")
    notes.cite("a", "why")
    notes.log.retract([position], reason="slip", actor="user")
    assert counts(notes, "a") == CitationCounts()


def test_a_link_depends_on_the_fact_of_its_citer(notes: Notebook) -> None:
    lesson = notes.say("elsewhere")
    notes.do(CiteItem("a", "lesson:1", by_user=True, because=(lesson,)), USER)
    notes.log.retract([lesson], reason="slip", actor="user")
    assert citers(notes, "a") == []


def test_a_link_says_since_when_and_until_when(notes: Notebook) -> None:
    notes.cite("a")
    since = notes.stage.clock.now()
    notes.stage.clock.tick(days=1)
    notes.let_go("a")
    notes.cite("a", "lesson:2")
    with notes.reading() as reader:
        first, second = citation_links(reader, notes.who(reader), "a")
    assert (first.citer, first.since, first.until) == ("lesson:1", since, second.since)
    assert second.until is None


def test_an_agent_cannot_cite_in_a_users_name(notes: Notebook) -> None:
    with pytest.raises(Forbidden, match="cannot cite 'a' as the user"):
        notes.do(CiteItem("a", "lesson:1", by_user=True), AGENT)
    assert citers(notes, "a") == []


def test_an_agent_cannot_close_a_users_link(notes: Notebook) -> None:
    notes.cite("a")
    with pytest.raises(Forbidden, match="a user cites 'a'"):
        notes.do(CloseCitation("a", "lesson:1"), AGENT)
    notes.do(CloseCitation("a", "lesson:1"), ENGINE)
    assert citers(notes, "a") == []


@pytest.mark.parametrize("author", ["user", "pack:tools"])
def test_only_the_user_retires_what_a_user_wrote(notes: Notebook, author: str) -> None:
    notes.say("mine", by=Context(actor=author))
    for other in (ENGINE, AGENT):
        with pytest.raises(Forbidden):
            notes.retire("mine", other, force=True)
    notes.retire("mine", USER)
    assert notes.listed() == {"a", "b"}


def test_the_user_retires_a_cited_item_with_force(notes: Notebook) -> None:
    notes.cite("a")
    with pytest.raises(Forbidden, match="cited by lesson:1"):
        notes.retire("a", USER)
    notes.retire("a", USER, force=True)
    assert notes.listed() == {"b"}


def test_the_engine_does_not_demote_what_a_user_wrote(notes: Notebook) -> None:
    notes.say("mine", by=USER)
    notes.make("s", "mine", "a")
    assert notes.demote("mine", "s").facts == ()
    assert notes.demote("a", "s").facts


def test_an_item_that_a_user_revised_belongs_to_the_user(notes: Notebook) -> None:
    notes.do(ReviseItem("a", text="a is about something else."), USER)
    with pytest.raises(Forbidden):
        notes.retire("a", AGENT)


def test_an_agent_cannot_revise_a_source_of_a_summary_that_a_user_edited(
    notes: Notebook,
) -> None:
    notes.make("both", "a", "b")
    notes.do(ReviseItem("a", text="Said otherwise."), by=AGENT)  # nobody's words are lost
    notes.make("again", "a", "b")
    notes.do(ReviseItem("again", text="I saw to it myself."), by=USER)
    with pytest.raises(Forbidden, match="a user wrote text that is derived from it"):
        notes.do(ReviseItem("a", text="Said once more."), by=AGENT)
    assert "again" in notes.listed()
    notes.do(ReviseItem("a", text="The user's own word."), by=USER)


def test_a_pinned_item_is_not_demoted(notes: Notebook) -> None:
    notes.do(PinItem("a"), USER)
    notes.make("s", "a")
    assert notes.demote("a", "s").facts == ()


def test_nothing_is_demoted_for_a_summary_of_an_older_version(
    notes: Notebook,
) -> None:
    notes.make("s", "a", "b")
    notes.do(ReviseItem("a", text="a is not about a."))
    with pytest.raises(NotFound):
        notes.demote("a", "s")


def test_nothing_is_demoted_for_an_item_that_is_not_derived_from_it(notes: Notebook) -> None:
    notes.make("s", "b")
    assert notes.demote("a", "s").facts == ()


def test_counts_and_links_reveal_nothing_hidden(notes: Notebook) -> None:
    notes.say("open", scope="team:t")
    notes.say("secret", scope="project:p")
    notes.cite("open", "secret")
    notes.cite("open", "lesson:1")
    notes.do(GrantAudience("agent:x", ("team:t",)), USER)
    assert counts(notes, "open") == CitationCounts(open=2, by_user=2)
    assert counts(notes, "open", "agent:x") == CitationCounts()
    assert counts(notes, "secret", "agent:x") is None
    assert counts(notes, "open", "stranger") is None
    with notes.reading() as reader:
        asker = notes.who(reader, "agent:x")
        assert citation_links(reader, asker, "open") == []
        told = citation_links(
            reader, asker, "open", lambda _reader, _who, names: {"lesson:1"} & {*names}
        )
        assert [link.citer for link in told] == ["lesson:1"]
        with pytest.raises(NotFound):
            citation_links(reader, notes.who(reader, "stranger"), "open")
