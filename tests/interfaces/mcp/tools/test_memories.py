"""Memory tools: remember with the user's confirmation, recall and browse by scope."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.interfaces.mcp.clients import McpClient, connect_to

from everloop.app import Engine
from everloop.interfaces.mcp.tool_context import ToolContext
from everloop.interfaces.mcp.tools.memories import keyed_memory_id, plain_memory_id
from everloop.log import Context, Fact
from everloop.log.model.facts import NoteWritten
from everloop.log.model.record import fact_of
from everloop.memory.index.vector_index import VectorIndex
from everloop.memory.index.vector_store import VectorCache
from everloop.memory.model.commands import (
    GrantAudience,
    RememberItem,
    RetireItem,
    ReviseItem,
    RevokeAudience,
)
from everloop.memory.model.events import AudienceGranted, Remembered
from everloop.testing.embedder import WordEmbedder

HOST = "agent:test-host"
USER = Context()
TABS = {"text": "The user prefers tabs over spaces.", "scope": "user", "confirmation": "tabs, yes"}
OTHER_TOOLS = {  # of tasks and of worlds, which have no scope
    "claude_code",
    "list_worlds",
    "propose_task",
    "read_scene",
    "task_status",
    "what_does_character_know",
}


def _say(engine: Engine, item_id: str, text: str, scope: str = "user", by: Context = USER) -> None:
    engine.do(RememberItem(item_id, text, scope=scope), by=by)


def _fact(engine: Engine, position: int) -> Fact:
    return fact_of(engine.log.record(position))


def test_remembering_records_the_host_and_the_users_words(
    mcp_client: McpClient, engine: Engine
) -> None:
    kept = mcp_client.call("remember", **TABS)
    assert kept["new"] is True
    item = engine.memory.find("user", kept["id"])
    assert (item.author, item.origin.host) == (HOST, "test-host")
    fact = _fact(engine, item.position)
    assert isinstance(fact.event, Remembered)
    note = _fact(engine, fact.because[0])
    assert note.event == NoteWritten(text="tabs, yes")
    assert note.actor == HOST


@pytest.mark.promise("P-MEM-6")
def test_nobody_can_compute_the_id_of_a_memory_from_its_text(
    mcp_client: McpClient, engine: Engine
) -> None:
    kept = mcp_client.call("remember", **TABS)
    assert kept["id"] != plain_memory_id("user", TABS["text"])
    assert kept["id"] == keyed_memory_id(engine.log.secret, "user", TABS["text"], 0)
    assert len(engine.log.secret) == 16


def test_a_memory_with_a_plain_id_of_an_earlier_version_is_recognised(
    mcp_client: McpClient, engine: Engine
) -> None:
    old = plain_memory_id("user", TABS["text"])
    _say(engine, old, TABS["text"])
    again = mcp_client.call("remember", **TABS)
    assert (again["id"], again["new"]) == (old, False)


@pytest.mark.promise("P-MEM-6")
def test_remembering_what_is_hidden_is_answered_like_anything_new(
    mcp_client: McpClient, engine: Engine
) -> None:
    kept = mcp_client.call("remember", **TABS)
    engine.do(ReviseItem(kept["id"], witnesses=("agent:other",)))
    again = mcp_client.call("remember", **TABS)
    assert (again["new"], again["id"] == kept["id"]) == (True, False)
    assert len(again["id"]) == len(kept["id"])


def test_remembering_the_same_text_again_records_nothing(
    mcp_client: McpClient, engine: Engine
) -> None:
    first = mcp_client.call("remember", **TABS)
    head = engine.log.head
    again = mcp_client.call("remember", **TABS | {"confirmation": "I said so"})
    assert again["id"] == first["id"]
    assert again["new"] is False
    assert engine.log.head == head


def test_concurrent_duplicates_are_remembered_once(mcp_client: McpClient, engine: Engine) -> None:
    mcp_client.call("browse", what="memories", scope="user")  # it is admitted
    head, facts = engine.log.head, [f"Drawer {number} holds tools." for number in range(20)]
    with ThreadPoolExecutor(16) as pool:
        for fact in facts:
            told = [
                pool.submit(mcp_client.call, "remember", **TABS | {"text": fact}) for _ in range(16)
            ]
            answers = [one.result() for one in told]
            assert len({answer["id"] for answer in answers}) == 1
            assert [answer["new"] for answer in answers].count(True) == 1
    assert engine.log.head == head + 2 * len(facts)  # the user's words, and the memory


@pytest.mark.parametrize("until", ["2090-01-01T00:00:00Z", "2020-01-01T00:00:00Z"])
def test_a_temporary_memory_is_remembered_once_too(
    mcp_client: McpClient, engine: Engine, until: str
) -> None:
    first = mcp_client.call("remember", **TABS, holds_until=until)
    head = engine.log.head
    again = mcp_client.call("remember", **TABS, holds_until=until)
    assert (again["id"], again["new"]) == (first["id"], False)
    assert engine.log.head == head


@pytest.mark.promise("P-MCP-3")
def test_without_the_users_words_nothing_is_remembered(
    mcp_client: McpClient, engine: Engine
) -> None:
    said = mcp_client.error("remember", **TABS | {"confirmation": "  "})
    assert "Ask the user" in said
    assert "Field required" in mcp_client.error("remember", text="x", scope="user")
    assert mcp_client.call("browse", what="memories", scope="user")["total"] == 0
    assert engine.log.head <= 2  # the grants alone


def test_the_confirmation_of_an_invalid_memory_is_not_recorded(
    mcp_client: McpClient, engine: Engine
) -> None:
    mcp_client.call("remember", **TABS)
    head = engine.log.head
    assert "nothing to remember" in mcp_client.error("remember", **TABS | {"text": " "})
    other = TABS | {"text": "The user is away."}
    refused = mcp_client.error("remember", **other, holds_until="tomorrow")
    assert "holds_until 'tomorrow' is not a time" in refused
    assert engine.log.head == head


@pytest.mark.promise("P-MCP-3")
def test_retracting_the_confirmation_retracts_the_memory(
    mcp_client: McpClient, engine: Engine
) -> None:
    kept = mcp_client.call("remember", **TABS)
    item = engine.memory.find("user", kept["id"])
    words = _fact(engine, item.position).because[0]
    engine.log.retract([words], reason="I never said that", actor="user")
    assert mcp_client.call("recall", query="tabs", scope="user")["memories"] == []
    assert mcp_client.call("remember", **TABS)["new"] is True  # said again, it counts again


def test_a_host_cannot_restore_a_retired_memory(mcp_client: McpClient, engine: Engine) -> None:
    kept = mcp_client.call("remember", **TABS)
    engine.do(RetireItem(kept["id"]), by=USER)
    assert "Only the user can restore it" in mcp_client.error("remember", **TABS)
    later = {"holds_until": "2090-01-01T00:00:00Z"}
    assert "Only the user can restore it" in mcp_client.error("remember", **TABS, **later)


def test_a_memory_edited_or_moved_by_the_user_is_stored_again_as_new(
    room: ToolContext, engine: Engine
) -> None:
    engine.do(GrantAudience(HOST, ("user", "project:zoo")), by=USER)
    for text, scope in (
        ("The user prefers spaces.", "user"),
        (TABS["text"], "project:zoo"),
        (TABS["text"], "project:hush"),
        ("It is a secret.", "project:hush"),
    ):
        with connect_to(room) as mcp_client:
            first = mcp_client.call("remember", **TABS)
            engine.do(ReviseItem(first["id"], text=text, scope=scope), by=USER)
            second = mcp_client.call("remember", **TABS)
            assert (second["new"], second["id"] == first["id"]) == (True, False)
            found = mcp_client.call("browse", what="memories", scope="user", id=second["id"])
            assert found["memories"][0]["text"] == TABS["text"]
            assert mcp_client.call("remember", **TABS)["id"] == second["id"]
        for item_id in (first["id"], second["id"]):
            position = engine.memory.find("user", item_id).position
            engine.log.retract([position], reason="from the beginning", actor="user")


def test_an_expired_memory_can_be_remembered_again(mcp_client: McpClient) -> None:
    away = TABS | {"text": "The user is away."}
    first = mcp_client.call("remember", **away, holds_until="2020-01-01T00:00:00Z")
    again = mcp_client.call("remember", **away, holds_until="2090-01-01T00:00:00Z")
    assert (again["new"], again["id"] == first["id"]) == (True, False)


def test_a_contradiction_is_reported(mcp_client: McpClient) -> None:
    first = mcp_client.call("remember", **TABS | {"text": "The release is on 3 May 2026."})
    second = mcp_client.call("remember", **TABS | {"text": "The release is on 9 May 2026."})
    assert second["contradicts"] == [first["id"]]


def test_recall_searches_only_the_scope_and_global(mcp_client: McpClient, engine: Engine) -> None:
    _say(engine, "mem-a", "The parrot eats apples.", "project:zoo")
    _say(engine, "mem-b", "Parrots are birds.", "global")
    _say(engine, "mem-c", "My own parrot is ill.", "user")
    answer = mcp_client.call("recall", query="parrot", scope="project:zoo", mode="text")
    assert {hit["memory"]["id"] for hit in answer["memories"]} == {"mem-a", "mem-b"}
    assert answer["notices"] == []


class _LateBeside(WordEmbedder):
    """An embedder that finishes in the background only after a response."""

    def __init__(self) -> None:
        self.answered = threading.Event()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if threading.current_thread().name == "everloop-embed":
            self.answered.wait()
        return super().embed(texts)


@pytest.mark.parametrize("tool", ["recall", "manifest"])
def test_the_first_semantic_search_waits_for_embeddings(
    room: ToolContext, engine: Engine, tmp_path: Path, tool: str
) -> None:
    embedder = _LateBeside()
    engine.memory.memory.vector_index = VectorIndex(VectorCache(tmp_path / "vectors.db"), embedder)
    _say(engine, "mem-a", "The parrot eats apples.")
    with connect_to(room) as mcp_client:
        answer = mcp_client.call(tool, query="apples", scope="user")
    embedder.answered.set()
    assert answer["notices"] == []


@pytest.mark.promise("P-MCP-2")
def test_an_unknown_project_gives_no_results_and_a_notice(
    mcp_client: McpClient, engine: Engine
) -> None:
    _say(engine, "mem-a", "The parrot eats apples.", "project:zoo")
    _say(engine, "mem-b", "Parrots are birds.", "global")
    for answer in (
        mcp_client.call("recall", query="parrot", scope="project:zooo"),
        mcp_client.call("browse", what="memories", scope="project:zooo"),
    ):
        assert answer["memories"] == []
        assert "'project:zooo' is unknown, so NOTHING was searched" in answer["notices"][0]
        assert "project:zoo" in answer["notices"][0]


@pytest.mark.parametrize("what", ["memories", "lessons"])
def test_a_too_large_offset_is_refused_with_the_maximum(mcp_client: McpClient, what: str) -> None:
    said = mcp_client.error("browse", what=what, scope="user", offset=2**63)
    assert "less than or equal to 10000000" in said


@pytest.mark.parametrize("scope", ["", "zoo", "*", "project:*", "project:"])
def test_an_invalid_scope_is_refused_with_a_valid_example(
    mcp_client: McpClient, scope: str
) -> None:
    assert "project:NAME" in mcp_client.error("recall", query="x", scope=scope)


@pytest.mark.promise("P-MCP-2")
def test_every_tool_of_memory_requires_a_scope(mcp_client: McpClient) -> None:
    for tool in mcp_client.ask("list_tools").tools:
        if tool.name not in OTHER_TOOLS:
            assert "scope" in tool.input_schema["required"], tool.name


def test_a_revoked_host_gets_no_results_and_a_notice(room: ToolContext, engine: Engine) -> None:
    _say(engine, "mem-a", "The parrot eats apples.")
    engine.do(GrantAudience(HOST, ("*",)), by=USER)
    engine.do(RevokeAudience(HOST), by=USER)
    with connect_to(room) as mcp_client:
        answer = mcp_client.call("recall", query="parrot", scope="user")
        assert answer["memories"] == []
        assert f"{HOST} has no access to any scope" in answer["notices"][0]
        assert "has no access to" in mcp_client.error("remember", **TABS)


def test_a_host_sees_only_the_scopes_it_was_granted(room: ToolContext, engine: Engine) -> None:
    _say(engine, "mem-a", "The parrot eats apples.", "project:zoo")
    _say(engine, "mem-b", "The parrot is secret.", "project:hush")
    engine.do(GrantAudience(HOST, ("project:zoo",)), by=USER)
    with connect_to(room) as mcp_client:
        hidden = mcp_client.call("recall", query="parrot", scope="project:hush")
        assert hidden["memories"] == []
        assert "project:hush," not in hidden["notices"][0].partition("Scopes in use")[2]
        assert "has no access to" in mcp_client.error("remember", **TABS)
        found = mcp_client.call("recall", query="parrot", scope="project:zoo")["memories"]
        assert [hit["memory"]["id"] for hit in found] == ["mem-a"]


def test_a_memory_is_found_by_the_end_of_its_id(mcp_client: McpClient, engine: Engine) -> None:
    _say(engine, "mem-0123456789abcdef", "word " * 1_000)
    listed = mcp_client.call("browse", what="memories", scope="user")["memories"][0]
    assert listed["cut"] is True
    assert len(listed["text"]) == 1_000
    whole = mcp_client.call("browse", what="memories", scope="user", id="89abcdef")["memories"][0]
    assert whole["cut"] is False
    assert len(whole["text"]) == 5_000


def test_a_memory_of_another_scope_is_not_found(mcp_client: McpClient, engine: Engine) -> None:
    _say(engine, "mem-a", "The parrot eats apples.", "project:zoo")
    _say(engine, "mem-b", "It is mine.", "user")
    for said in (
        mcp_client.error("browse", what="memories", scope="user", id="mem-a"),
        mcp_client.error("zoom", scope="user", id="mem-a"),
        mcp_client.error("zoom", scope="project:unheard-of", id="mem-a"),
    ):
        assert "no memory 'mem-a'" in said
        assert "It is in 'project:zoo'; use that scope." in said
    missing = mcp_client.error("zoom", scope="user", id="mem-none")
    assert missing.endswith("no item 'mem-none'. Look up which there are.")


def test_zoom_shows_the_sources_of_a_summary(mcp_client: McpClient, engine: Engine) -> None:
    _say(engine, "mem-a", "The parrot eats apples.")
    _say(engine, "mem-b", "The parrot eats pears.")
    made = RememberItem("mem-s", "The parrot eats fruit.", derived_from=("mem-a", "mem-b"))
    engine.do(made, by=USER)
    levels = mcp_client.call("zoom", scope="user", id="mem-s")["levels"]
    assert [(level["depth"], level["memory"]["id"]) for level in levels] == [
        (0, "mem-s"),
        (1, "mem-a"),
        (1, "mem-b"),
    ]


def test_lists_are_paginated(mcp_client: McpClient, engine: Engine) -> None:
    for number in range(5):
        _say(engine, f"mem-{number}", f"Number {number} of the list.")
    page = mcp_client.call("browse", what="memories", scope="user", limit=2, offset=2)
    assert page["total"] == 5
    assert [memory["id"] for memory in page["memories"]] == ["mem-2", "mem-1"]


def test_too_much_text_is_refused(mcp_client: McpClient) -> None:
    assert "the limit is" in mcp_client.error("remember", **TABS | {"text": "a " * 50_000})


def test_a_new_scope_gives_a_notice(mcp_client: McpClient) -> None:
    kept = mcp_client.call("remember", **TABS | {"scope": "project:brand-new"})
    assert "'project:brand-new' is a new scope" in kept["notices"][0]


def test_a_host_is_admitted_once(room: ToolContext, engine: Engine) -> None:
    for _ in range(2):
        with connect_to(room) as mcp_client:
            mcp_client.call("browse", what="memories", scope="user")
    facts = [fact_of(record) for record in engine.log.records()]
    grants = [fact.actor for fact in facts if isinstance(fact.event, AudienceGranted)]
    assert grants == ["user", "engine"]
