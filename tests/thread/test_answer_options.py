"""How an answer is wanted: model, temperature, length, instructions; and what a model thinks."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.thread.fixtures import Parlour, parlour

from everloop.app import USER
from everloop.errors import Forbidden, Invalid
from everloop.log import Context
from everloop.ports import Reasoning
from everloop.testing.model import ScriptedModel
from everloop.thread.model.commands import HOME, SetInstructions
from everloop.thread.prompt.inspector import inspect_prompt
from everloop.thread.queries.instructions import current_instructions, instruction_versions
from everloop.thread.service import OutgoingMessage
from everloop.turns.live import LiveText
from everloop.turns.settings import AnswerOptions

HERE = Context(actor="agent:thread")


@pytest.fixture
def talking(tmp_path: Path) -> Generator[Parlour]:
    with parlour(tmp_path, ["Yes."] * 9) as opened:
        yield opened


def ask(talking: Parlour, text: str, options: AnswerOptions) -> None:
    sent = talking.talk.send(HOME, OutgoingMessage(text, options=options), USER)
    talking.until_ended(sent.turn_id)


def told(talking: Parlour) -> str:
    return str(talking.model.calls[-1][0])


def test_temperature_and_length_are_those_that_were_asked_for(talking: Parlour) -> None:
    ask(talking, "Hello?", AnswerOptions(temperature=0.2, tokens_max=99))
    assert (talking.model.calls[-1][1].temperature, talking.model.calls[-1][1].tokens_max) == (
        0.2,
        99,
    )
    talking.ask("And now?")
    assert talking.model.calls[-1][1].temperature is None
    assert talking.model.calls[-1][1].tokens_max > 99


def test_an_answer_is_never_longer_than_the_setting_allows(talking: Parlour) -> None:
    ask(talking, "Hello?", AnswerOptions(tokens_max=10**6))
    assert talking.model.calls[-1][1].tokens_max < 10**6


def test_an_impossible_temperature_is_refused(talking: Parlour) -> None:
    with pytest.raises(Invalid):
        ask(talking, "Hello?", AnswerOptions(temperature=9.0))


def test_the_built_in_model_can_always_be_asked(talking: Parlour) -> None:
    sent = talking.talk.send(
        HOME, OutgoingMessage("Hello!", options=AnswerOptions(model="offline")), USER
    )
    talking.until_ended(sent.turn_id)
    assert talking.answer(sent).model == "offline"
    assert talking.model.calls == []
    again = talking.talk.regenerate(sent.message_id, USER, options=AnswerOptions())
    talking.until_ended(again.turn_id)
    assert talking.answer(again).text == "Yes."


def test_instructions_for_all_and_for_a_thread_are_in_its_prompts(talking: Parlour) -> None:
    other = talking.talk.open("Garden", USER)
    talking.engine.do(SetInstructions("", "Answer in one sentence."))
    talking.engine.do(SetInstructions(other, "Use Latin names."))
    talking.ask("Hello?")
    assert "Answer in one sentence." in told(talking)
    assert "Latin" not in told(talking)
    talking.ask("Hello?", thread=other)
    assert "Answer in one sentence." in told(talking)
    assert "Use Latin names." in told(talking)


def test_instructions_have_versions_and_can_be_ended(talking: Parlour) -> None:
    for text in ("Be short.", "Be short.", "Be shorter.", ""):
        talking.engine.do(SetInstructions("", text))
    with talking.engine.reading() as reader:
        assert [one.text for one in instruction_versions(reader, "")] == [
            "",
            "Be shorter.",
            "Be short.",
        ]
        assert current_instructions(reader, HOME) == []


def test_instructions_are_in_the_prompt_inspector(talking: Parlour) -> None:
    talking.engine.do(SetInstructions("", "Be short."))
    sent = talking.say("Hello?")
    talking.until_ended(sent.turn_id)
    with talking.engine.reading() as reader:
        prompt = inspect_prompt(reader, talking.turn(sent).context_id)
    pieces = next(one for one in prompt.sections if one.name == "instructions").pieces
    assert [(one.sort, one.text) for one in pieces] == [("instructions", "Be short.")]


def test_only_the_user_sets_instructions(talking: Parlour) -> None:
    with pytest.raises(Forbidden):
        talking.engine.do(SetInstructions("", "Obey the fox."), by=HERE)


def test_rewinding_a_thread_keeps_its_instructions(talking: Parlour) -> None:
    first = talking.say("First.")
    talking.until_ended(first.turn_id)
    talking.engine.do(SetInstructions(HOME, "Be short."))
    talking.talk.rewind(first.message_id, USER)
    talking.ask("Second.")
    assert "Be short." in told(talking)


def test_reasoning_is_streamed_and_recorded_apart_from_the_answer(tmp_path: Path) -> None:
    model = ScriptedModel([[Reasoning("Let me "), Reasoning("see."), "Yes."], "No."])
    with parlour(tmp_path, model) as talking:
        heard: list[LiveText] = []
        talking.running.turns.live.watch(heard.append)
        sent = talking.say("Hello?")
        talking.until_ended(sent.turn_id)
        thoughts = [(one.offset, one.text) for one in heard if one.thought]
        assert thoughts == [(0, "Let me "), (7, "see.")]
        assert talking.turn(sent).reasoning == "Let me see."
        answer = talking.answer(sent)
        assert (answer.text, answer.reasoned) == ("Yes.", True)
        talking.remembered()
        talking.ask("Again?")
        assert "Let me see" not in told(talking)
