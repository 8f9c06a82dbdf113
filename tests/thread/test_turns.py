"""Turns: recorded before anything is sent, answered once, and never lost."""

import asyncio
import threading
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.thread.fixtures import PLAIN, Parlour, gate, parlour

from everloop.app import USER, Engine
from everloop.errors import Conflict, Invalid, ModelFailed, NotFound, Unavailable
from everloop.log import Command, Context, Receipt
from everloop.log.model.facts import Retracted
from everloop.memory.context import load_ledger
from everloop.memory.projections.queries import load_viewer
from everloop.memory.retrieval.results import SearchQuery
from everloop.ports import (
    Chunk,
    Delta,
    Finish,
    Params,
    Prompt,
    Stream,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from everloop.services import Services
from everloop.settings import Settings
from everloop.testing.bus import FunctionBus
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.model import Script, ScriptedModel, Step
from everloop.thread.model.commands import HOME, BeginSending, BeginStreaming, SaveAnswer
from everloop.thread.model.events import Attachment, TurnFailed, TurnSending
from everloop.thread.queries import threads
from everloop.thread.service import OutgoingMessage, ThreadService
from everloop.thread.settings import ThreadSettings
from everloop.turns.settings import TurnSettings
from everloop.usage.events import ModelCalled


@pytest.fixture
def talking(tmp_path: Path) -> Generator[Parlour]:
    with parlour(tmp_path, ["Hello.", "Again.", "Third."]) as opened:
        yield opened


def test_a_message_gets_an_answer(talking: Parlour) -> None:
    assert talking.ask("Hi.") == "Hello."
    assert talking.said() == [("user", "Hi."), ("assistant", "Hello.")]


def test_sending_with_the_same_idempotency_key_sends_once(talking: Parlour) -> None:
    first = talking.say("Hi.", letter="a")
    second = talking.say("Hi.", letter="a")
    talking.until_ended(first.turn_id)
    assert second == first
    assert talking.said() == [("user", "Hi."), ("assistant", "Hello.")]


def test_a_second_message_waits_and_is_answered_with_the_first_answer_before_it(
    tmp_path: Path,
) -> None:
    go = gate()
    with parlour(tmp_path, [["One ", go, "done."], "Two."]) as talking:
        first, second = talking.say("First?"), talking.say("Second?")
        talking.until_streaming(first.turn_id)
        assert talking.turn(second).phase == "recorded"
        go.set()
        talking.until_ended(second.turn_id)
        prompt, _ = talking.model.calls[1]
        assert [message.role for message in prompt.messages] == ["user", "assistant", "user"]
        assert prompt.messages[1].parts == (Text("One done."),)
        assert prompt.messages[2].parts[-1] == Text("Second?")


def test_an_answer_that_ended_for_length_says_so_and_can_be_continued(tmp_path: Path) -> None:
    with parlour(tmp_path, [["Half", Finish("length")], "and the rest.", "More."]) as talking:
        sent = talking.say("Tell me.")
        talking.until_ended(sent.turn_id)
        cut = talking.answer(sent)
        assert (cut.finish, "thread.answer.tokens_max" in cut.hint) == ("length", True)
        more = talking.talk.continue_answer(cut.message_id, USER, request_id="r1")
        talking.until_ended(more.turn_id)
        assert talking.answer(more).text == "and the rest."
        again = talking.talk.continue_answer(cut.message_id, USER, request_id="r1")
        assert again.turn_id == more.turn_id
        with pytest.raises(Conflict):
            talking.talk.continue_answer(cut.message_id, USER)
        with pytest.raises(Invalid):
            talking.talk.continue_answer(talking.answer(more).message_id, USER)


def test_the_error_of_a_silent_model_will_name_the_setting_that_decides(tmp_path: Path) -> None:
    with parlour(tmp_path, ["Yes."]) as talking:
        talking.ask("Are you there?")
        _, params = talking.model.calls[-1]
        assert params.timeout_s == talking.running.settings.thread.answer.silence_s
        assert params.timeout_setting == "thread.answer.silence_s"


def test_stopping_keeps_the_text_so_far(tmp_path: Path) -> None:
    with parlour(tmp_path, [["Half ", gate(), "never"]]) as talking:
        sent = talking.say("Tell me.")
        talking.until_streaming(sent.turn_id)
        talking.running.stop_turn(HOME, sent.turn_id)
        talking.until_ended(sent.turn_id)
        answer = talking.answer(sent)
        assert (answer.state, answer.text) == ("stopped", "Half ")
        for fact in talking.engine.follow(after=sent.position):
            if isinstance(fact.event, ModelCalled):  # what it took is not known
                assert (fact.event.turn_id, fact.event.cost_usd) == (sent.turn_id, -1.0)
                break


def test_an_interrupted_answer_that_streams_keeps_only_what_was_heard(tmp_path: Path) -> None:
    with parlour(tmp_path, [["One. Two. ", gate(), "Three."], "Next."]) as talking:
        sent = talking.say("Tell me.")
        talking.until_streaming(sent.turn_id)
        talking.running.truncate_answer(HOME, sent.turn_id, "One.", by=USER)
        talking.until_ended(sent.turn_id)
        assert talking.ask("Go on.") == "Next."
        assert talking.answer(sent).state == "stopped"
        assert talking.said()[1] == ("assistant", "One.")
        prompt, _ = talking.model.calls[1]
        assert prompt.messages[1].parts == (Text("One."),)


@pytest.mark.promise("P-VOICE-4")
def test_an_interrupted_answer_that_was_complete_keeps_only_what_was_heard(tmp_path: Path) -> None:
    with parlour(tmp_path, ["The heron eats qxtrout.", "Next."]) as talking:
        sent = talking.say("What does it eat?")
        talking.until_ended(sent.turn_id)
        talking.remembered()
        talking.running.truncate_answer(HOME, sent.turn_id, "The heron", by=USER)
        talking.remembered()
        assert talking.said()[1] == ("assistant", "The heron")
        found = talking.engine.memory.recall("user", SearchQuery("qxtrout"))
        assert [hit.item.text for hit in found.hits] == []
        assert talking.ask("Go on.") == "Next."
        assert not talking.talk.open_turns(HOME)
        retractions = (one for one in talking.engine.log.records() if one.kind == Retracted.wire)
        talking.engine.log.retract([next(retractions).position], reason="", actor="user")
        assert talking.said()[1] == ("assistant", "The heron eats qxtrout.")


class Estimating(ScriptedModel):
    """A scripted model that estimates what a broken-off call cost."""

    def __init__(self, answers: Iterable[Script]) -> None:
        super().__init__(answers)
        self.called = threading.Event()

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """The next answer of the script."""
        stream = super().generate(prompt, params)
        self.called.set()
        return stream

    def estimate_usage(self, prompt: Prompt, text: str) -> Usage:
        """Its estimate."""
        return Usage(self.name, len(prompt.messages), len(text), 0.5)


@pytest.mark.parametrize("steps", [["Half ", gate(), "never"], [gate(), "never"]])
def test_a_stopped_answer_records_an_estimate_of_its_cost(
    tmp_path: Path, steps: list[Step]
) -> None:
    model = Estimating([steps])
    with parlour(tmp_path, model) as talking:
        sent = talking.say("Tell me.")
        model.called.wait()
        if steps[0] == "Half ":
            talking.until_streaming(sent.turn_id)
        talking.running.stop_turn(HOME, sent.turn_id)
        talking.until_ended(sent.turn_id)
        events = (fact.event for fact in talking.engine.follow(after=sent.position))
        called = next(event for event in events if isinstance(event, ModelCalled))
        text = 5 if steps[0] == "Half " else 0
        assert (called.tokens_in, called.tokens_out, called.cost_usd) == (1, text, 0.5)


class Unloadable(ScriptedModel):
    """A model whose library is not installed."""

    def preload(self) -> None:
        """There is nothing to load."""
        raise ModelFailed("it needs a library", hint="Install it.")


def test_a_turn_whose_library_cannot_be_loaded_was_never_sent(tmp_path: Path) -> None:
    with parlour(tmp_path, Unloadable(["never"])) as talking:
        sent = talking.say("Tell me.")
        talking.until_ended(sent.turn_id)
        kinds = [type(fact.event) for fact in talking.engine.log.read(f"thread:{HOME}")]
        assert TurnFailed in kinds
        assert TurnSending not in kinds


def test_a_queued_turn_can_be_stopped_and_is_never_sent(tmp_path: Path) -> None:
    go = gate()
    with parlour(tmp_path, [["One.", go], "Two."]) as talking:
        first, second = talking.say("First?"), talking.say("Second?")
        talking.until_streaming(first.turn_id)
        talking.running.stop_turn(HOME, second.turn_id)
        talking.until_ended(second.turn_id)
        go.set()
        talking.until_ended(first.turn_id)
        assert len(talking.model.calls) == 1


def test_a_failing_model_leaves_a_failed_turn_with_its_text_and_a_hint(
    tmp_path: Path,
) -> None:
    broken = ModelFailed("the line is dead", hint="Try again.")
    with parlour(tmp_path, [["Some ", broken]]) as talking:
        sent = talking.say("Hi.")
        talking.until_ended(sent.turn_id)
        answer = talking.answer(sent)
        assert (answer.state, answer.text) == ("failed", "Some ")
        assert (answer.reason, answer.hint) == ("the line is dead", "Try again.")


@pytest.mark.promise("P-THREAD-1")
@pytest.mark.parametrize(
    "problem",
    [
        KeyError("choices"),
        RuntimeError("half a \ud800 character"),
        RuntimeError("x" * 3_000_000),
        asyncio.CancelledError(),
        SystemExit(3),
    ],
    ids=["key", "half", "long", "cancelled", "exit"],
)
def test_any_adapter_exception_fails_the_turn_with_a_message_and_the_next_is_answered(
    tmp_path: Path, problem: BaseException
) -> None:
    with parlour(tmp_path, [["Some ", problem], "Better."]) as talking:
        sent = talking.say("Hi.")
        talking.until_ended(sent.turn_id)
        answer = talking.answer(sent)
        assert (answer.state, answer.text) == ("failed", "Some ")
        assert type(problem).__name__ in answer.reason
        assert answer.hint
        assert talking.ask("And now?") == "Better."


class Brittle(ScriptedModel):
    """An adapter with errors of its own: its streams break on being closed, the second at once."""

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        if self.calls:
            raise ZeroDivisionError("no stream today")
        return BrittleStream(super().generate(prompt, params))


class BrittleStream:
    """A stream that says goodbye with an error."""

    def __init__(self, inner: Stream) -> None:
        self._inner = inner

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        try:
            return next(self._inner)
        except StopIteration:
            raise BrokenPipeError("it was closed") from None

    def close(self) -> None:
        self._inner.close()
        raise BrokenPipeError("it was closed")


@pytest.mark.promise("P-THREAD-1")
def test_an_adapter_that_fails_on_start_or_stop_leaves_no_open_turn(
    tmp_path: Path,
) -> None:
    with parlour(tmp_path, Brittle([["Half ", gate(), "never"]])) as talking:
        first = talking.say("Hi.")
        talking.until_streaming(first.turn_id)
        talking.running.stop_turn(HOME, first.turn_id)
        talking.until_ended(first.turn_id)
        assert (talking.answer(first).state, talking.answer(first).text) == ("stopped", "Half ")
        second = talking.say("Again?")
        talking.until_ended(second.turn_id)
        assert "no stream today" in talking.answer(second).reason


@pytest.mark.promise("P-THREAD-1")
def test_unencodable_text_and_endless_answers_still_become_answers(
    tmp_path: Path,
) -> None:
    limits = TurnSettings(characters_max=1_000)
    settings = Settings(memory=PLAIN.memory, thread=ThreadSettings(answer=limits))
    endless = ["x" * 300] * 50
    with parlour(tmp_path, [["Half \ud83d", "."], endless, "Next."], settings=settings) as talking:
        assert talking.ask("A face?") == "Half ?."
        sent = talking.say("For ever?")
        talking.until_ended(sent.turn_id)
        assert (talking.answer(sent).text, talking.answer(sent).state) == ("x" * 1_000, "done")
        assert talking.ask("And?") == "Next."


def test_regenerating_adds_a_branch_and_the_first_answer_stays_on_its_own(
    talking: Parlour,
) -> None:
    first = talking.say("Hi.")
    talking.until_ended(first.turn_id)
    second = talking.talk.regenerate(first.message_id, USER)
    talking.until_ended(second.turn_id)
    assert talking.said() == [("user", "Hi."), ("assistant", "Again.")]
    talking.talk.switch_branch(HOME, first.branch, USER)
    assert talking.said() == [("user", "Hi."), ("assistant", "Hello.")]


def test_an_answer_lands_on_its_own_branch_even_if_the_thread_is_switched_meanwhile(
    tmp_path: Path,
) -> None:
    go = gate()
    with parlour(tmp_path, [["Old ", go, "answer."], "New."]) as talking:
        first = talking.say("Hi.")
        talking.until_streaming(first.turn_id)
        second = talking.talk.regenerate(first.message_id, USER)
        go.set()
        talking.until_ended(first.turn_id)
        talking.until_ended(second.turn_id)
        assert talking.answer(first).text == "Old answer."
        assert talking.said() == [("user", "Hi."), ("assistant", "New.")]


def test_a_message_can_be_edited(talking: Parlour) -> None:
    first = talking.say("Hi.")
    talking.until_ended(first.turn_id)
    with pytest.raises(Invalid):
        talking.talk.edit(talking.answer(first).message_id, OutgoingMessage("No."), USER)
    second = talking.talk.edit(first.message_id, OutgoingMessage("Good morning."), USER)
    talking.until_ended(second.turn_id)
    assert talking.said() == [("user", "Good morning."), ("assistant", "Again.")]


@pytest.mark.parametrize("anew", [False, True])
def test_switching_branches_meanwhile_does_not_move_a_regenerated_answer(
    talking: Parlour, anew: bool
) -> None:
    first = talking.say("Hi.")
    talking.until_ended(first.turn_id)

    def interrupted(command: Command, **how: Any) -> Receipt:
        talking.talk.switch_branch(HOME, first.branch, USER)
        return talking.engine.do(command, **how)

    talk = ThreadService(talking.engine.log, FunctionBus(interrupted), talking.engine.memory)
    sent = (
        talk.edit(first.message_id, OutgoingMessage("Good morning."), USER)
        if anew
        else talk.regenerate(first.message_id, USER)
    )
    assert sent.branch != first.branch
    assert talking.said() == [("user", "Hi."), ("assistant", "Hello.")]
    talking.talk.switch_branch(HOME, sent.branch, USER)
    talking.until_ended(sent.turn_id)
    assert talking.answer(sent).text == "Again."


def test_an_idempotency_key_is_bound_to_one_thread_and_one_set_of_files(talking: Parlour) -> None:
    there = talking.talk.open("There", USER)
    letter = OutgoingMessage("Hi.", letter_id="one")
    first = talking.talk.send(HOME, letter, USER)
    assert talking.talk.send(HOME, letter, USER) == first
    with pytest.raises(Conflict):
        talking.talk.send(there, letter, USER)
    file = Attachment("0" * 64, "cat.png", "image/png", 1)
    with pytest.raises(Conflict):
        talking.talk.send(HOME, OutgoingMessage("Hi.", (file,), letter_id="one"), USER)


def test_a_failed_edit_succeeds_when_it_is_sent_again(talking: Parlour) -> None:
    first = talking.say("Hi.")
    talking.until_ended(first.turn_id)
    letter = OutgoingMessage("Good morning.", letter_id="again")

    def failing(command: Command, *, by: Context, **_: Any) -> Receipt:
        raise Unavailable(f"{by.actor} cannot {command}")

    with pytest.raises(Unavailable):
        ThreadService(talking.engine.log, FunctionBus(failing), talking.engine.memory).edit(
            first.message_id, letter, USER
        )
    assert talking.said() == [], "it went back, and nothing was said there"
    second = talking.talk.edit(first.message_id, letter, USER)
    talking.until_ended(second.turn_id)
    assert talking.said() == [("user", "Good morning."), ("assistant", "Again.")]
    assert talking.talk.edit(first.message_id, letter, USER) == second


def test_a_rewind_can_be_previewed_and_undone(talking: Parlour) -> None:
    first = talking.say("Hi.")
    talking.until_ended(first.turn_id)
    talking.ask("And?")
    gone = talking.talk.preview_rewind(talking.answer(first).message_id)
    assert "thread.message_sent" in gone.hidden_by_kind()
    back = talking.talk.rewind(talking.answer(first).message_id, USER)
    assert len(talking.said()) == 2
    talking.talk.switch_branch(HOME, back.before, USER)
    assert len(talking.said()) == 4


def test_deleting_a_message_deletes_its_answer_and_its_memory(talking: Parlour) -> None:
    sent = talking.say("My locker is 4711.")
    talking.until_ended(sent.turn_id)
    talking.remembered()
    assert talking.talk.search(SearchQuery("locker")).found
    assert talking.talk.preview_retract(sent.message_id).hidden_by_kind()["memory.remembered"] == 2
    talking.talk.retract(sent.message_id, "a slip", USER)
    assert talking.said() == []
    assert not talking.talk.search(SearchQuery("locker")).found


def test_a_hidden_message_is_in_no_prompt(talking: Parlour) -> None:
    talking.ask("The word is plum.")
    with talking.engine.reading() as reader:
        first = threads.newest_messages(reader, HOME).messages[0]
    talking.hide(first.message_id)
    talking.ask("Which word?")
    prompt, _ = talking.model.calls[1]
    assert "plum" not in str(prompt)


def test_the_ledger_of_a_prompt_is_recorded_before_it_is_sent(talking: Parlour) -> None:
    sent = talking.say("Hi.")
    talking.until_ended(sent.turn_id)
    records = list(talking.engine.log.records())
    kinds = [record.kind for record in records]
    assert kinds.index("memory.context_assembled") < kinds.index(TurnSending.wire)
    with talking.engine.reading() as reader:
        position = kinds.index("memory.context_assembled") + 1
        kept = load_ledger(reader, load_viewer(reader, "user"), position)
    assert {section.name for section in kept.sections} >= {"you", "dialogue", "question"}


def test_a_tool_is_run_and_recorded_and_its_result_goes_to_the_model(tmp_path: Path) -> None:
    call = ToolCall("c1", "remember", {"text": "The cat is called Ada."})
    with parlour(tmp_path, [["Let me note that.", call], "Noted."]) as talking:
        sent = talking.say("My cat is called Ada.")
        talking.until_ended(sent.turn_id)
        assert talking.answer(sent).text == "Let me note that.\n\nNoted."
        (used,) = talking.turn(sent).tools
        assert (used.name, used.failed) == ("remember", False)
        told = talking.model.calls[1][0].messages[-1]
        assert isinstance(told.parts[0], ToolResult)
        with talking.engine.reading() as reader:
            assert reader.rows("SELECT author FROM memory_items")[0][0] == "agent:thread"


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("c", "fly", {}),
        ToolCall("c", "remember", {"words": 1}),
        ToolCall("c", "zoom", {"what": "day:x"}),
    ],
    ids=["unknown", "malformed", "impossible"],
)
def test_a_tool_error_goes_to_the_model_and_the_turn_continues(
    tmp_path: Path, call: ToolCall
) -> None:
    with parlour(tmp_path, [[call], "Sorry."]) as talking:
        sent = talking.say("Do it.")
        talking.until_ended(sent.turn_id)
        assert talking.turn(sent).tools[0].failed
        assert talking.answer(sent).text == "Sorry."


def test_the_number_of_tool_rounds_is_limited(tmp_path: Path) -> None:
    call = ToolCall("c", "recall", {"query": "x"})
    rounds = PLAIN.thread.answer.tool_rounds_max
    with parlour(tmp_path, [[call]] * rounds + [[Delta("Well.")]]) as talking:
        assert talking.ask("Loop.") == "Well."
        assert talking.model.calls[-1][0].tools == ()


def test_a_turn_sent_by_a_crashed_process_becomes_uncertain_with_its_saved_text(
    tmp_path: Path,
) -> None:
    ports = DeterministicPorts().ports
    with Engine.open(tmp_path, settings=PLAIN, ports=ports) as engine:
        running = Services(engine, PLAIN, ScriptedModel())
        running.talk.home_thread(USER)
        sent = running.talk.send(HOME, OutgoingMessage("Hi."), USER)
        by = Context(actor="engine")
        sending = BeginSending(HOME, sent.turn_id, "msg-a", "m", "ctx", "dead")
        engine.do(sending, by=by)
        engine.do(BeginStreaming(HOME, sent.turn_id), by=by)
        engine.do(SaveAnswer(HOME, sent.turn_id, "So far"), by=by)
    with parlour(tmp_path, ["Never asked."]) as talking:
        talking.until_ended(sent.turn_id)
        answer = talking.answer(sent)
        assert (answer.state, answer.text) == ("uncertain", "So far")
        assert talking.model.calls == []


def test_a_turn_queued_before_a_crash_is_answered(tmp_path: Path) -> None:
    with Engine.open(tmp_path, settings=PLAIN, ports=DeterministicPorts().ports) as engine:
        running = Services(engine, PLAIN, ScriptedModel())
        running.talk.home_thread(USER)
        sent = running.talk.send(HOME, OutgoingMessage("Hi."), USER)
    with parlour(tmp_path, ["Here I am."]) as talking:
        talking.until_ended(sent.turn_id)
        assert talking.answer(sent).text == "Here I am."


def test_threads_are_independent(talking: Parlour) -> None:
    other = talking.talk.open("Garden", USER)
    talking.ask("In the garden.", thread=other)
    assert talking.said() == []
    with pytest.raises(NotFound):
        talking.say("Where?", thread="nowhere")


def test_too_many_messages_at_once_are_refused_with_a_hint(tmp_path: Path) -> None:
    go = gate()
    with parlour(tmp_path, [[go, "Done."]]) as talking:
        for number in range(20):
            talking.say(f"Message {number}")
        with pytest.raises(Conflict) as refused:
            talking.say("One more")
        assert refused.value.hint
        go.set()
