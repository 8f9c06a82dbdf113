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

OURS = {"recall", "remember", "propose_task"}  # zoom comes with a past


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
        found = noting.list_notes(reader, HOME)
    return [(note.title, note.text) for note in found if note.sort == sort]


def test_the_model_is_offered_every_tool_that_applies_with_its_schema(talking: Parlour) -> None:
    told(talking, "Hello.")
    assert {tool.name for tool in talking.model.calls[-1][0].tools} == {"remember", "propose_task"}
    told(talking, "Hello again.")
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


def test_recall_says_who_said_it_and_when(talking: Parlour) -> None:
    said = told(talking, "The plums are ripe in August.")
    talking.engine.do(RememberItem("mem-jam", "Plum jam needs lemon."))
    _, found = used(talking, "recall", query="plums")
    day = talking.stage.clock.now().date()
    assert f"{day} (said by the person, {said.message_id}) The plums are ripe" in found
    assert f"{day} (fact, kept by the person, mem-jam) Plum jam needs lemon." in found


def test_recall_says_that_nothing_fits(talking: Parlour) -> None:
    told(talking, "The plums are ripe in August.")
    _, nothing = used(talking, "recall", query="quokka")
    assert nothing.startswith("Memory was searched; nothing fits.")


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
        talking, "remember", kind="rule", title="Ask first", text="Ask before you plant."
    )
    lesson_id = said.removeprefix("Proposed as ").partition(".")[0]
    lesson = talking.engine.lessons.find("user", lesson_id)
    assert (lesson.status, lesson.author) == ("pending", "agent")
    assert (lesson.description, lesson.body) == ("Ask first", "Ask before you plant.")
    talking.talk.retract(sent.message_id, "a slip", USER)
    with pytest.raises(NotFound):
        talking.engine.lessons.find("user", lesson_id)


def test_a_proposed_task_has_the_check_and_the_repository_that_the_model_named(
    talking: Parlour,
) -> None:
    workers = talking.engine.workers
    asked = {"title": "Fix it", "brief": "Fix the test.", "check": "pytest -q 'a b'"}
    _, said = used(talking, "propose_task", repository="/code/Shop", **asked)
    spec = workers.find(said.removeprefix("Proposed as ").partition(".")[0]).task.spec
    assert (spec.check, spec.workspace.path) == (("pytest", "-q", "a b"), "/code/Shop")
    _, said = used(talking, "propose_task", repository="shop", **asked)
    spec = workers.find(said.removeprefix("Proposed as ").partition(".")[0]).task.spec
    assert (spec.workspace.kind, spec.workspace.path) == ("worktree", "/code/Shop")
    with pytest.raises(NotFound, match="my repo") as unknown:
        workers.known_folder("my repo")
    assert "Tasks worked in /code/Shop." in unknown.value.hint


@pytest.mark.parametrize(
    ("arguments", "noted"),
    [
        ({"kind": "decision", "text": "We plant plums."}, ("We plant plums.", "We plant plums.")),
        ({"kind": "topic", "title": "Plums", "text": "Ripe."}, ("Plums", "Ripe.")),
        ({"kind": "intent", "text": "Buy a spade."}, ("Buy a spade.", "Buy a spade.")),
    ],
)
def test_notes_of_the_model_are_stored_and_deleted_with_the_question(
    talking: Parlour, arguments: dict[str, str], noted: tuple[str, str]
) -> None:
    sent, _ = used(talking, "remember", **arguments)
    sort = arguments["kind"]
    assert notes(talking, sort) == [noted]
    talking.talk.retract(sent.message_id, "a slip", USER)
    assert notes(talking, sort) == []


def test_a_note_on_an_open_topic_does_not_open_it_again(talking: Parlour) -> None:
    _, first = used(talking, "remember", kind="topic", title="Plums", text="Ripe.")
    _, second = used(talking, "remember", kind="topic", title="plums", text="Eaten.")
    assert first == second
    assert notes(talking, "topic") == [("Plums", "Eaten.")]
