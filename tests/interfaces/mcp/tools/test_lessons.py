"""Lesson tools: a host proposes, reports use and relays feedback, but cannot promote."""

from typing import Any

import pytest
from tests.interfaces.mcp.clients import McpClient, connect_to

from everloop.app import Engine
from everloop.interfaces.mcp.tool_context import ToolContext
from everloop.lessons.model.events import (
    FeedbackGiven,
    LessonNarrated,
    LessonProposed,
    ManifestShown,
)
from everloop.log import Context
from everloop.log.model.facts import NoteWritten
from everloop.log.model.record import fact_of
from everloop.memory.model.commands import GrantAudience, RememberItem

USER = Context()
HOST = "agent:test-host"
TEA: dict[str, Any] = {
    "description": "Warm the pot before the tea.",
    "body": "Pour in hot water, wait a minute, pour it out.",
    "scope": "project:tea",
}
WHY = {
    "trigger": "The tea was served.",
    "failure_mode": "It was cold.",
    "correction": "The pot was warmed first.",
    "confidence": "observed",
}


def _events(engine: Engine, kind: type[Any]) -> list[Any]:
    facts = [fact_of(record) for record in engine.log.records()]
    return [fact for fact in facts if isinstance(fact.event, kind)]


@pytest.mark.promise("P-MCP-1")
def test_no_tool_promotes_activates_or_trusts(mcp_client: McpClient) -> None:
    names = {tool.name for tool in mcp_client.ask("list_tools").tools}
    forbidden = ("promot", "activat", "trust", "approv", "withdraw", "discard", "edit", "forget")
    assert [name for name in names if any(word in name for word in forbidden)] == []
    assert mcp_client.error("promote_lesson", id="les-x").startswith("Unknown tool")


def test_tools_say_whether_they_write(mcp_client: McpClient) -> None:
    tools = {tool.name: tool for tool in mcp_client.ask("list_tools").tools}
    writing = {name for name, tool in tools.items() if not tool.annotations.read_only_hint}
    assert writing == {
        "manifest", "remember", "propose_lesson", "report_use", "give_feedback", "propose_task",
        "claude_code",
    }  # fmt: skip
    for tool in tools.values():
        assert tool.annotations.destructive_hint is False
        assert tool.output_schema is not None
        assert tool.description


def test_a_proposal_is_the_hosts_and_pending(mcp_client: McpClient, engine: Engine) -> None:
    engine.do(RememberItem("mem-tea", "The tea was cold.", scope="project:tea"), by=USER)
    proposed = mcp_client.call("propose_lesson", **TEA, memories=["mem-tea"], why=WHY)
    assert (proposed["status"], proposed["new"]) == ("pending", True)
    assert any("time-floor" in reason for reason in proposed["in_the_way"])
    made = _events(engine, LessonProposed)[0]
    assert (made.actor, made.event.author, made.event.session) == (HOST, "agent", "mcp-run")
    assert _events(engine, LessonNarrated)[0].event.narrative.correction == WHY["correction"]


def test_a_proposal_may_name_the_skill_it_improves(mcp_client: McpClient, engine: Engine) -> None:
    mcp_client.call("propose_lesson", **TEA, skill="make-tea")
    assert _events(engine, LessonProposed)[0].event.target_skill == "make-tea"


def test_a_description_and_a_title_have_at_most_280_characters(mcp_client: McpClient) -> None:
    mcp_client.call("propose_lesson", **TEA | {"description": "d" * 280})
    assert "280" in mcp_client.error("propose_lesson", **TEA | {"description": "d" * 281})
    told = {"text": "The tea is in the tin.", "scope": "project:tea", "confirmation": "In the tin."}
    assert "280" in mcp_client.error("remember", **told, title="t" * 281)
    mcp_client.call("remember", **told, title="t" * 280)


def test_the_same_proposal_again_is_the_same_lesson(mcp_client: McpClient, engine: Engine) -> None:
    first = mcp_client.call("propose_lesson", **TEA)
    head = engine.log.head
    again = mcp_client.call("propose_lesson", **TEA)
    assert again["id"] == first["id"]
    assert again["new"] is False
    assert engine.log.head == head


def test_a_users_rule_needs_the_users_words(mcp_client: McpClient, engine: Engine) -> None:
    assert "Pass them, verbatim" in mcp_client.error("propose_lesson", **TEA, author="user")
    words = (
        "Always warm the pot, and I mean always, whatever the weather and whoever is visiting us."
    )
    mcp_client.call("propose_lesson", **TEA, author="user", quotes=[words], why=WHY)
    made = _events(engine, LessonProposed)[0]
    assert (made.actor, made.event.author) == (HOST, "user")  # passed on, and recorded as that


def test_a_use_counts_once_per_name(mcp_client: McpClient) -> None:
    lesson = mcp_client.call("propose_lesson", **TEA)["id"]
    used = {"id": lesson, "scope": "project:tea", "use": "tuesday"}
    lines = [mcp_client.call("report_use", **used) for _ in range(2)]
    assert [line["uses"] for line in lines] == [1, 1]


def test_feedback_carries_the_users_words_and_counts_once(
    mcp_client: McpClient, engine: Engine
) -> None:
    lesson = mcp_client.call("propose_lesson", **TEA)["id"]
    said = {"id": lesson, "scope": "project:tea", "helpful": True, "words": "That was good tea."}
    lines = [mcp_client.call("give_feedback", **said) for _ in range(2)]
    assert [line["thumbs_up"] for line in lines] == [1, 1]
    given = _events(engine, FeedbackGiven)
    assert [(each.actor, each.event.relayed) for each in given] == [(HOST, True)]
    note = _events(engine, NoteWritten)[0]
    assert (note.event.text, given[0].event.signal_id) == (said["words"], f"note-{note.position}")
    assert "needs the user's own words" in mcp_client.error(
        "give_feedback", **said | {"words": " "}
    )


def test_negative_feedback_reaches_the_gate(mcp_client: McpClient) -> None:
    lesson = mcp_client.call("propose_lesson", **TEA)["id"]
    said = {"id": lesson, "scope": "project:tea", "helpful": False, "words": "Never do that."}
    line = mcp_client.call("give_feedback", **said)
    assert any("thumbs-down-block" in reason for reason in line["in_the_way"])


@pytest.mark.promise("P-MCP-1")
def test_an_agents_own_praise_and_use_do_not_promote_its_lesson(
    room: ToolContext, engine: Engine
) -> None:
    with connect_to(room) as mcp_client:
        remembered = mcp_client.call(
            "remember", text="The tea was cold.", scope="project:tea", confirmation="it was cold"
        )
        proposed = mcp_client.call("propose_lesson", **TEA, memories=[remembered["id"]], why=WHY)
        where = {"id": proposed["id"], "scope": "project:tea"}
        for number in range(5):
            mcp_client.call("report_use", **where, use=str(number))
            mcp_client.call("give_feedback", **where, helpful=True, words=f"Praise number {number}")
    asked = engine.lessons.promote(proposed["id"], by=Context(actor=HOST))
    assert asked.passed is False
    codes = {reason.partition(":")[0] for reason in asked.reasons}
    assert codes >= {
        "time-floor",
        "missing-external-signal-sources",
        "insufficient-origin-diversity",
        "cited-memory-own-session",
    }


def test_recall_and_browse_show_only_lessons_of_the_scope(mcp_client: McpClient) -> None:
    tea = mcp_client.call("propose_lesson", **TEA)["id"]
    other = mcp_client.call("propose_lesson", **TEA | {"scope": "project:coffee"})["id"]
    found = mcp_client.call("recall", query="warm the pot", scope="project:tea")["lessons"]
    assert [hit["lesson"]["id"] for hit in found] == [tea]
    page = mcp_client.call("browse", what="lessons", scope="project:coffee", status=["pending"])
    assert [lesson["id"] for lesson in page["lessons"]] == [other]
    assert mcp_client.call("browse", what="lessons", scope="project:tea", id=tea)["total"] == 1
    wrong = {"scope": "project:tea", "id": other}
    assert "no lesson" in mcp_client.error("browse", what="lessons", **wrong)
    assert "no lesson" in mcp_client.error("report_use", **wrong)
    assert "no lesson" in mcp_client.error("give_feedback", **wrong, helpful=True, words="x")


def test_a_lesson_outside_a_hosts_scopes_is_not_found(room: ToolContext, engine: Engine) -> None:
    with connect_to(room, name="insider") as mcp_client:
        lesson = mcp_client.call("propose_lesson", **TEA)["id"]
    engine.do(GrantAudience(HOST, ("user",)), by=USER)
    with connect_to(room) as mcp_client:
        answer = mcp_client.call("browse", what="lessons", scope="project:tea")
        assert answer["lessons"] == []
        assert "is unknown" in answer["notices"][0]
        assert "no lesson" in mcp_client.error("report_use", id=lesson, scope="project:tea")


def test_the_manifest_shows_the_lessons_of_the_scope_and_records_that_it_did(
    mcp_client: McpClient, engine: Engine
) -> None:
    engine.do(RememberItem("mem-tea", "The tea was cold.", scope="project:tea"), by=USER)
    tea = mcp_client.call("propose_lesson", **TEA)["id"]
    coffee = mcp_client.call("propose_lesson", **TEA | {"scope": "project:coffee"})["id"]
    for lesson in (tea, coffee):
        engine.lessons.activate(lesson, by=USER)
    shown = mcp_client.call("manifest", scope="project:tea", query="cold tea")
    assert shown["lessons"] == [tea]
    assert shown["memories"] == ["mem-tea"]
    assert TEA["description"] in shown["text"]
    record = _events(engine, ManifestShown)[0]
    assert (record.actor, record.event.lesson_ids, record.event.session) == (
        HOST,
        (tea,),
        "mcp-run",
    )
    assert engine.lessons.find("user", tea).uses == 0  # shown is not used


def test_the_manifest_of_an_unknown_project_is_empty_and_says_so(mcp_client: McpClient) -> None:
    shown = mcp_client.call("manifest", scope="project:none")
    assert shown["text"] == ""
    assert "NOTHING was searched" in shown["notices"][0]


@pytest.mark.parametrize("field", ["trigger", "failure_mode", "correction"])
def test_a_narrative_respects_its_length_limits(mcp_client: McpClient, field: str) -> None:
    said = mcp_client.error("propose_lesson", **TEA, why=WHY | {field: "x" * 201})
    assert "at most" in said


def test_a_resource_is_a_memory_or_a_lesson_by_its_id(
    mcp_client: McpClient, engine: Engine
) -> None:
    engine.do(RememberItem("mem-tea", "The tea was cold.", scope="project:tea"), by=USER)
    lesson = mcp_client.call("propose_lesson", **TEA)["id"]
    templates = mcp_client.ask("list_resource_templates").resource_templates
    assert {each.uri_template for each in templates} == {
        "everloop://memory/{id}",
        "everloop://lesson/{id}",
        "everloop://manifest/{scope}",
    }
    memory = mcp_client.ask("read_resource", "everloop://memory/mem-tea").contents[0]
    assert '"The tea was cold."' in memory.text
    assert (
        TEA["body"]
        in mcp_client.ask("read_resource", f"everloop://lesson/{lesson}").contents[0].text
    )
    engine.lessons.activate(lesson, by=USER)
    manifest = mcp_client.ask("read_resource", "everloop://manifest/project:tea").contents[0]
    assert TEA["description"] in manifest.text
    nothing = mcp_client.ask("read_resource", "everloop://manifest/project:none").contents[0]
    assert "NOTHING was searched" in nothing.text
    with pytest.raises(Exception, match="is not a scope"):
        mcp_client.ask("read_resource", "everloop://manifest/tea")
    with pytest.raises(Exception, match="no item 'mem-none'"):
        mcp_client.ask("read_resource", "everloop://memory/mem-none")


def test_prompts_contain_matching_memories_and_lessons(
    mcp_client: McpClient, engine: Engine
) -> None:
    engine.do(RememberItem("mem-tea", "The tea was cold.", scope="project:tea"), by=USER)
    lesson = mcp_client.call("propose_lesson", **TEA)["id"]
    where = {"scope": "project:tea"}
    known = mcp_client.ask("get_prompt", "what_do_we_know", {"topic": "tea", **where})
    assert "mem-tea" in known.messages[0].content.text
    review = mcp_client.ask("get_prompt", "review_pending_lessons", where)
    assert lesson in review.messages[0].content.text
    assert (
        "project:tea"
        in mcp_client.ask("get_prompt", "learn_from_this", where).messages[0].content.text
    )
    with pytest.raises(Exception, match="is not a scope"):
        mcp_client.ask("get_prompt", "what_do_we_know", {"topic": "tea", "scope": "tea"})
