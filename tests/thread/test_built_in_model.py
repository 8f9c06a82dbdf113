"""A conversation with the built-in model: statements are kept, questions answered from them."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.thread.fixtures import Parlour, parlour

from everloop.adapters.models.offline import NOTHING, OfflineModel
from everloop.errors import ModelFailed
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import Filter, Item, list_items, load_viewer
from everloop.ports import Params, Prompt, Stream
from everloop.testing.model import ScriptedModel
from everloop.thread.model.commands import HOME
from everloop.thread.queries.saved_memories import SavedMemory, saved_memories

STARTER = "I prefer short answers, and my time zone is Europe/Berlin. Remember that."
FACT = "I prefer short answers, and my time zone is Europe/Berlin."


class Switchable(ScriptedModel):
    """The built-in model until another one is connected."""

    connected = False

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """The answer of the model that is in use."""
        return (
            super().generate(prompt, params) if self.connected else OFFLINE.generate(prompt, params)
        )


OFFLINE = OfflineModel()


@pytest.fixture
def talking(tmp_path: Path) -> Generator[Parlour]:
    with parlour(tmp_path, Switchable(["You prefer short ones."] * 3)) as opened:
        yield opened


def connect(talking: Parlour) -> None:
    assert isinstance(talking.model, Switchable)
    talking.model.connected = True


def facts(talking: Parlour) -> list[Item]:
    with talking.engine.reading() as reader:
        return list_items(reader, load_viewer(reader, OWNER), Filter(kinds=("fact",)))


def saved(talking: Parlour) -> list[SavedMemory]:
    with talking.engine.reading() as reader:
        return saved_memories(reader, HOME, 50)


def sent_to_model(talking: Parlour) -> str:
    return str(talking.model.calls[-1][0].messages)


def test_the_starter_sentence_is_acknowledged_and_kept(talking: Parlour) -> None:
    sent = talking.say(STARTER)
    talking.until_ended(sent.turn_id)
    assert talking.answer(sent).text == "Noted."
    assert [(item.text, item.learned_via) for item in facts(talking)] == [(FACT, "told")]
    assert [(one.message_id, one.text) for one in saved(talking)] == [(sent.message_id, FACT)]


def test_undoing_a_saved_memory_removes_it_and_keeps_the_conversation(talking: Parlour) -> None:
    talking.ask(STARTER)
    talking.engine.log.retract([saved(talking)[0].position], reason="undone", actor="user")
    assert saved(talking) == []
    assert facts(talking) == []
    assert talking.said() == [("user", STARTER), ("assistant", "Noted.")]


def test_a_question_is_answered_from_memory_with_its_date_once(talking: Parlour) -> None:
    talking.ask(STARTER)
    talking.remembered()
    answer = talking.ask("What is my time zone?")
    assert answer.count(FACT.rstrip(".")) == 1
    assert "2026-01-01" in answer
    assert talking.ask("Who won the cup?") == NOTHING


def test_saying_it_again_keeps_it_once(talking: Parlour) -> None:
    talking.ask(STARTER)
    assert talking.ask(STARTER) == "I have that already."
    assert len(facts(talking)) == 1


def test_a_contradiction_is_named_when_it_is_kept_and_when_it_is_asked_for(
    talking: Parlour,
) -> None:
    talking.ask("The boiler code is 4711.")
    assert "contradicts what was kept on" in talking.ask("The boiler code is 4712.")
    answer = talking.ask("What is the boiler code?")
    assert "contradicts itself" in answer
    assert "4711" in answer
    assert "4712" in answer


@pytest.mark.promise("P-MODEL-3")
def test_words_of_the_built_in_model_are_never_sent_to_another_model(talking: Parlour) -> None:
    talking.ask(STARTER)
    talking.ask("What is my time zone?")
    connect(talking)
    talking.ask("Which answers do I prefer?")
    prompt = talking.model.calls[-1][0]
    assert {message.role for message in prompt.messages} == {"user"}
    assert "Noted" not in str(prompt)
    assert "You told me" not in str(prompt)
    assert FACT in str(prompt)


@pytest.mark.promise("P-MODEL-3")
def test_words_of_the_built_in_model_are_never_a_memory(talking: Parlour) -> None:
    talking.ask(STARTER)
    talking.ask("What is my time zone?")
    talking.remembered()
    with talking.engine.reading() as reader:
        items = list_items(reader, load_viewer(reader, OWNER))
    assert {item.text for item in items} == {STARTER, FACT, "What is my time zone?"}


def test_failed_turns_do_not_pile_up_in_the_next_prompt(tmp_path: Path) -> None:
    failed = ModelFailed("no")
    with parlour(tmp_path, [failed, ["Half an ", failed], failed, "Here I am."]) as talking:
        for text in ("First try?", "Second try?", "Second  try?"):
            talking.ask(text)
        talking.ask("Now?")
        said = sent_to_model(talking)
    assert "First try?" not in said
    assert "Half an" not in said
    assert said.count("try?") == 1
    assert "Now?" in said


def test_a_question_that_failed_and_is_asked_again_is_sent_once(tmp_path: Path) -> None:
    with parlour(tmp_path, [ModelFailed("no"), "Here I am."]) as talking:
        talking.ask("Are you there?")
        talking.ask("Are you there?")
        assert sent_to_model(talking).count("Are you there?") == 1
