"""Memory methods: what a host may see and change."""

from pathlib import Path

import pytest
from tests.interfaces.rpc.clients import Indoors, Refused, serving

from everloop.app import USER
from everloop.lessons.model.commands import ProposeLesson
from everloop.lessons.model.events import MemoryEvidence
from everloop.memory.model.commands import GrantAudience, RememberItem

HIDDEN = "mem-hidden"


def _narrowed(inside: Indoors) -> None:
    """Give the host access to `user` only, with one item outside of it."""
    inside.engine.do(GrantAudience("agent:rpc", ("user",)), by=USER)
    inside.engine.do(RememberItem(HIDDEN, "The vault opens at nine.", scope="team:x"), by=USER)


@pytest.mark.promise("P-RPC-3")
def test_memories_outside_a_hosts_scopes_are_not_found(inside: Indoors) -> None:
    _narrowed(inside)
    assert inside.call("memory.list")["total"] == 0
    assert inside.call("memory.search", query="vault", mode="text")["returned"] == 0
    assert inside.call("memory.delete", id=HIDDEN)["ok"]
    for method in ("memory.get", "memory.update"):
        with pytest.raises(Refused) as refused:
            inside.call(method, id=HIDDEN, content="It opens at ten.")
        assert (refused.value.code, refused.value.data["id"]) == (-32002, HIDDEN)
    assert inside.engine.memory.find("user", HIDDEN).text == "The vault opens at nine."
    assert not inside.engine.memory.find("user", HIDDEN).retired


def test_a_host_cannot_write_to_a_scope_it_cannot_read(inside: Indoors) -> None:
    _narrowed(inside)
    mine = inside.call("memory.create", description="mine", content="Tea at four.")["id"]
    for method, params in (
        ("memory.create", {"description": "a", "content": "b"}),
        ("memory.update", {"id": mine}),
    ):
        with pytest.raises(Refused) as refused:
            inside.call(method, scope={"team": "x"}, **params)
        assert refused.value.code == -32005


def test_a_host_cannot_change_or_delete_a_users_memory(inside: Indoors) -> None:
    inside.engine.do(RememberItem("mem-1", "Tea at four."), by=USER)
    for method in ("memory.update", "memory.delete"):
        with pytest.raises(Refused) as refused:
            inside.call(method, id="mem-1", content="Tea at five.", force=True)
        assert refused.value.code == -32003
        assert refused.value.data["memory_id"] == "mem-1"
        assert refused.value.data["cited_by"] == 0
    assert inside.call("memory.get", id="mem-1")["content"] == "Tea at four."


def test_a_memory_cited_by_a_users_lesson_is_counted_and_immune(inside: Indoors) -> None:
    mine = inside.call("memory.create", description="tea", content="Tea at four.")["id"]
    lesson = ProposeLesson("", "Tea", "Tea at four.", evidence=(MemoryEvidence(mine),))
    inside.engine.lessons.propose(lesson, by=USER)
    assert inside.call("memory.get", id=mine)["consumed_by_user_lessons"] == 1
    with pytest.raises(Refused) as refused:
        inside.call("memory.delete", id=mine)
    assert (refused.value.code, refused.value.data["cited_by"]) == (-32003, 1)


@pytest.mark.promise("P-RPC-3")
def test_an_invisible_users_lesson_protects_a_memory_without_being_counted(
    inside: Indoors,
) -> None:
    mine = inside.call("memory.create", description="tea", content="Tea at four.")["id"]
    _narrowed(inside)
    evidence = (MemoryEvidence(mine),)
    lesson = ProposeLesson("", "Tea", "Tea at four.", scope="team:x", evidence=evidence)
    inside.engine.lessons.propose(lesson, by=USER)
    assert inside.call("memory.get", id=mine)["consumed_by_user_lessons"] == 0
    [listed] = inside.call("memory.list")["results"]
    assert listed["consumed_by_user_lessons"] == 0
    with pytest.raises(Refused) as refused:
        inside.call("memory.delete", id=mine)
    assert (refused.value.code, refused.value.data["cited_by"]) == (-32003, 0)


def test_two_hosts_share_the_memories_of_common_scopes(inside: Indoors) -> None:
    made = inside.call("memory.create", "squid", description="tea", content="Tea at four.")
    assert inside.call("memory.get", "heron", id=made["id"])["description"] == "tea"


def test_a_preview_is_shortened_and_the_body_is_not(inside: Indoors) -> None:
    text = "heron " * 100
    inside.call("memory.create", description="birds", content=text)
    cut = inside.call("memory.search", query="heron", mode="text")["results"][0]
    whole = inside.call("memory.search", query="heron", mode="text", include_body=True)
    assert cut["body_preview"] == text[:240]
    assert whole["results"][0]["body_preview"] == text


@pytest.mark.parametrize(
    ("folder", "told"), [("apollo", "apollo"), ("/home/ada/apollo/", "apollo"), ("C:\\w\\a", "a")]
)
def test_only_the_last_folder_of_a_path_is_stored(inside: Indoors, folder: str, told: str) -> None:
    origin = {"cwd_basename": folder}
    made = inside.call("memory.create", description="a", content="b", origin=origin)
    assert made["origin"] == {"cwd_basename": told}


def test_semantic_search_finds_a_memory_right_after_it_was_created(tmp_path: Path) -> None:
    with serving(tmp_path / "home", EVERLOOP_MEMORY_EMBEDDER="granite") as host:
        text = "Our physician sees patients on weekday mornings."
        made = host.call("memory.create", description="Surgery hours", content=text)
        found = host.call("memory.search", query="when can I visit the doctor")
        assert "notes" not in found
        assert [hit["id"] for hit in found["results"]] == [made["id"]]
        assert found["results"][0]["source"] == "semantic"


def test_who_reworded_another_agents_memory_is_named(inside: Indoors) -> None:
    mine = inside.call("memory.create", description="tea", content="Tea at four.")["id"]
    assert "revised_by" not in inside.call("memory.update", id=mine, content="Tea at five.")
    changed = inside.call("memory.update", "other", id=mine, content="Coffee at six.")
    assert changed["revised_by"] == "agent:other"
    assert inside.call("memory.get", id=mine)["revised_by"] == "agent:other"
    item = inside.engine.memory.find("user", mine)
    assert (item.author, item.revised_by) == ("agent:rpc", "agent:other")
    assert item.authors == "agent:rpc, revised by agent:other"
