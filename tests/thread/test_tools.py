"""What a model may use in a conversation: each tool gives what it says and keeps what it notes."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.thread.fixtures import Parlour, parlour

from everloop.app import USER
from everloop.errors import NotFound
from everloop.memory.model.commands import RememberItem
from everloop.ports import ToolCall, ToolResult
from everloop.testing.model import Script
from everloop.thread.model.commands import HOME
from everloop.thread.queries import notes as noting
from everloop.thread.service import SentMessage

OURS = {
    "recall",
    "search_messages",
    "zoom",
    "remember",
    "propose_lesson",
    "note_decision",
    "note_topic",
    "note_intent",
}


SCRIPT: list[Script] = []  # what the model is going to say


@pytest.fixture
def talking(tmp_path: Path) -> Generator[Parlour]:
    SCRIPT.clear()
    with parlour(tmp_path, SCRIPT) as opened:
        yield opened


def used(talking: Parlour, name: str, **arguments: Any) -> tuple[SentMessage, str]:
    """A turn in which the model uses a tool, and what it was told."""
    SCRIPT.extend([[ToolCall("c1", name, arguments)], "So it is."])
    sent = talking.say("Go ahead.")
    talking.until_ended(sent.turn_id)
    (result,) = talking.model.calls[-1][0].messages[-1].parts
    assert isinstance(result, ToolResult)
    assert not talking.turn(sent).tools[0].failed
    return sent, result.text


def told(talking: Parlour, text: str) -> SentMessage:
    """Something that was said, answered and remembered."""
    SCRIPT.append("I see.")
    sent = talking.say(text)
    talking.until_ended(sent.turn_id)
    talking.remembered()
    return sent


def notes(talking: Parlour, sort: str) -> list[tuple[str, str]]:
    with talking.engine.reading() as reader:
        found = noting.notes(reader, HOME)
    return [(note.title, note.text) for note in found if note.sort == sort]


def test_the_model_is_offered_every_tool_with_its_schema(talking: Parlour) -> None:
    told(talking, "Hello.")
    offered = {tool.name: tool for tool in talking.model.calls[-1][0].tools}
    assert set(offered) == OURS
    for tool in offered.values():
        assert tool.description
        assert tool.schema["type"] == "object"


def test_recall_finds_memories_and_messages(talking: Parlour) -> None:
    told(talking, "The plums are ripe in August.")
    talking.engine.do(RememberItem("mem-jam", "Plum jam needs lemon."))
    _, found = used(talking, "recall", query="plums")
    assert "Plum jam needs lemon." in found
    assert "The plums are ripe in August." in found


def test_message_search_finds_messages_and_no_other_memories(talking: Parlour) -> None:
    said = told(talking, "The plums are ripe in August.")
    talking.engine.do(RememberItem("mem-jam", "Plum jam needs lemon."))
    _, found = used(talking, "search_messages", query="plums")
    assert f"(message, {said.message_id}) The plums are ripe in August." in found
    assert "jam" not in found
    _, nothing = used(talking, "search_messages", query="quokka")
    assert nothing.startswith("Nothing was found.")


def test_zoom_opens_a_day_down_to_its_messages(talking: Parlour) -> None:
    said = told(talking, "The plums are ripe in August.")
    day = talking.stage.clock.now().date()
    _, seen = used(talking, "zoom", what=f"day:{day}")
    assert f"user ({said.message_id}): The plums are ripe in August." in seen


def test_a_memory_of_the_model_is_its_own_claim_and_is_deleted_with_the_question(
    talking: Parlour,
) -> None:
    sent, kept = used(talking, "remember", text="The cat is called Ada.", title="Cat")
    item_id = kept.removeprefix("Kept as ").rstrip(".")
    item = talking.engine.memory.find("user", item_id)
    assert (item.title, item.author, item.learned_via) == ("Cat", "agent:thread", "inferred")
    _, again = used(talking, "remember", text="The cat is called Ada.")
    assert again == f"{item_id} says so already."
    talking.talk.retract(sent.message_id, "a slip", USER)
    with pytest.raises(NotFound):
        talking.engine.memory.find("user", item_id)


def test_a_lesson_proposed_by_the_model_is_pending_and_is_deleted_with_the_question(
    talking: Parlour,
) -> None:
    sent, said = used(
        talking, "propose_lesson", description="Ask first", body="Ask before you plant."
    )
    lesson_id = said.removeprefix("Proposed as ").partition(".")[0]
    lesson = talking.engine.lessons.find("user", lesson_id)
    assert (lesson.status, lesson.author) == ("pending", "agent")
    assert (lesson.description, lesson.body) == ("Ask first", "Ask before you plant.")
    talking.talk.retract(sent.message_id, "a slip", USER)
    with pytest.raises(NotFound):
        talking.engine.lessons.find("user", lesson_id)


@pytest.mark.parametrize(
    ("tool", "arguments", "sort", "noted"),
    [
        (
            "note_decision",
            {"text": "We plant plums."},
            "decision",
            ("We plant plums.", "We plant plums."),
        ),
        ("note_topic", {"title": "Plums", "note": "Ripe."}, "topic", ("Plums", "Ripe.")),
        ("note_intent", {"text": "Buy a spade."}, "intent", ("Buy a spade.", "Buy a spade.")),
    ],
)
def test_notes_of_the_model_are_stored_and_deleted_with_the_question(
    talking: Parlour, tool: str, arguments: dict[str, str], sort: str, noted: tuple[str, str]
) -> None:
    sent, _ = used(talking, tool, **arguments)
    assert notes(talking, sort) == [noted]
    talking.talk.retract(sent.message_id, "a slip", USER)
    assert notes(talking, sort) == []


def test_a_note_on_an_open_topic_does_not_open_it_again(talking: Parlour) -> None:
    _, first = used(talking, "note_topic", title="Plums", note="Ripe.")
    _, second = used(talking, "note_topic", title="plums", note="Eaten.")
    assert first == second
    assert notes(talking, "topic") == [("Plums", "Eaten.")]
