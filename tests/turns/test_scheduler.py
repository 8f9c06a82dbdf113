"""The conductor: one of all processes, on every branch, whoever dies, stops or takes back."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.thread.fixtures import PLAIN, Parlour, gate, parlour

from everloop.app import USER, Engine
from everloop.errors import Conflict
from everloop.memory.model.events import Remembered
from everloop.memory.retrieval.results import SearchQuery
from everloop.ports import Delta, ToolCall
from everloop.services import Services
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.model import ScriptedModel, Step
from everloop.thread.model.commands import HOME, StopTurn
from everloop.thread.queries import notes, threads
from everloop.thread.service import OutgoingMessage
from everloop.turns.live import LiveText
from everloop.turns.scheduler import TurnScheduler

DYING = """
import sys, threading
from tests.thread.fixtures import parlour
from pathlib import Path
with parlour(Path(sys.argv[1]), [["So far ", threading.Event(), "never"]]) as talking:
    sent = talking.say("Who are you?")
    waiting = talking.say("And now?")
    talking.until_streaming(sent.turn_id)
    print(sent.turn_id, waiting.turn_id, flush=True)
    threading.Event().wait()
"""


def test_of_two_processes_one_runs_the_turns_and_the_other_takes_over(tmp_path: Path) -> None:
    with parlour(tmp_path, ["One.", "Two."]) as first:
        assert first.running.turns.leads.wait(60)
        with parlour(tmp_path, ["Three."], ids_from=1_000) as second:
            sent = second.say("Hi.")
            second.until_ended(sent.turn_id)
            assert (len(first.model.calls), len(second.model.calls)) == (1, 0)
            assert not second.running.turns.leads.is_set()
            first.running.turns.stop()
            assert second.running.turns.leads.wait(60)
            assert second.ask("Still there?") == "Three."


def test_after_a_kill_another_process_marks_the_turn_uncertain_and_answers_the_next(
    tmp_path: Path,
) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", DYING, str(tmp_path)]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as dying:  # noqa: S603
        assert dying.stdout is not None
        sent, waiting = dying.stdout.readline().split()
        with parlour(tmp_path, ["Here I am."], ids_from=1_000) as talking:
            dying.kill()
            dying.wait()
            talking.until_ended(waiting)
            with talking.engine.reading() as reader:
                assert threads.find_turn(reader, sent).phase == "uncertain"
                assert threads.find_turn(reader, waiting).phase == "done"
            assert len(talking.model.calls) == 1


def test_closing_keeps_the_text_so_far(tmp_path: Path) -> None:
    with parlour(tmp_path, [["Half ", gate(), "never"]]) as talking:
        sent = talking.say("Tell me.")
        talking.until_streaming(sent.turn_id)
        talking.running.turns.stop()
        answer = talking.answer(sent)
        assert (answer.state, answer.text) == ("stopped", "Half ")


def test_a_branch_forked_during_an_answer_continues_without_it(tmp_path: Path) -> None:
    go = gate()
    with parlour(tmp_path, [["One ", go, "done."], "Two.", "Two again."]) as talking:
        first = talking.say("First?")
        talking.until_streaming(first.turn_id)
        second = talking.say("Second?")
        again = talking.talk.regenerate(second.message_id, USER)
        talking.until_ended(again.turn_id)
        with talking.engine.reading() as reader:
            assert threads.find_turn(reader, first.turn_id).phase == "uncertain"
        go.set()
        talking.talk.switch_branch(HOME, first.branch, USER)
        talking.until_ended(second.turn_id)
        assert talking.answer(first).text == "One done."
        assert len(talking.model.calls) == 3


def test_a_turn_that_is_sent_on_one_branch_is_never_sent_on_another(tmp_path: Path) -> None:
    go = gate()
    with parlour(tmp_path, [["One ", go, "done."], "Again."]) as talking:
        talking.running.turns.stop()
        first, second = talking.say("First?"), talking.say("Second?")
    with parlour(tmp_path, [["One ", go, "done."], "Again."], ids_from=1_000) as talking:
        talking.until_streaming(first.turn_id)
        again = talking.talk.regenerate(second.message_id, USER)
        talking.until_ended(again.turn_id)
        assert talking.turn(first).phase == "streaming"
        with talking.engine.reading() as reader:
            assert threads.find_turn(reader, first.turn_id).phase == "stopped"
        assert len(talking.model.calls) == 2


def test_a_turn_queued_on_another_branch_is_answered_after_switching_back(
    tmp_path: Path,
) -> None:
    go = gate()
    with parlour(tmp_path, [["One ", go, "done."], "Other.", "Two."]) as talking:
        first, second = talking.say("First?"), talking.say("Second?")
        talking.until_streaming(first.turn_id)
        other = talking.talk.edit(first.message_id, OutgoingMessage("Else?"), USER)
        talking.until_ended(other.turn_id)
        go.set()
        talking.until_ended(first.turn_id)
        assert talking.turn(second).phase == "recorded"
        talking.talk.switch_branch(HOME, first.branch, USER)
        talking.until_ended(second.turn_id)
        assert talking.answer(second).text == "Two."


def test_a_stop_that_another_process_recorded_ends_the_answer(tmp_path: Path) -> None:
    with parlour(tmp_path, [["Half ", gate(), "never"], "Next."]) as talking:
        sent = talking.say("Tell me.")
        talking.until_streaming(sent.turn_id)
        talking.engine.do(StopTurn(HOME, sent.turn_id))
        assert talking.ask("And?") == "Next."
        assert talking.turn(sent).phase == "stopped"


def test_deleting_a_message_cancels_its_answer(tmp_path: Path) -> None:
    with parlour(tmp_path, [["Half ", gate(), "never"], "Next."]) as talking:
        sent = talking.say("My locker is 4711.")
        talking.until_streaming(sent.turn_id)
        talking.talk.retract(sent.message_id, "a slip", USER)
        assert talking.ask("And?") == "Next."
        assert talking.said() == [("user", "And?"), ("assistant", "Next.")]
        assert "4711" not in str(talking.model.calls[1])


def test_the_model_can_be_changed_within_a_thread(tmp_path: Path) -> None:
    models = [ScriptedModel(["I am one."], name="one"), ScriptedModel(["I am two."], name="two")]
    with Engine.open(tmp_path, settings=PLAIN, ports=DeterministicPorts().ports) as engine:
        running = Services(engine, PLAIN, models[0])
        running.talk.home_thread(USER)
        chosen = list(models)
        turns = TurnScheduler(
            engine.log, running.thread_turns, lambda _: chosen[0], engine.ports.clock
        )
        turns.start()
        talking = Parlour(running, models[0], DeterministicPorts())
        talking.ask("Who?")
        chosen.pop(0)
        sent = talking.say("And who now?")
        talking.until_ended(sent.turn_id)
        turns.stop()
        assert talking.answer(sent).model == "two"
        assert "I am one." in str(models[1].calls[0][0].messages)


def test_an_unavailable_model_fails_the_turn_and_the_scheduler_continues(
    tmp_path: Path,
) -> None:
    with parlour(tmp_path, []) as talking:
        first, second = talking.say("Hi."), talking.say("Hi again.")
        talking.until_ended(second.turn_id)
        assert (talking.turn(first).phase, talking.turn(second).phase) == ("failed", "failed")
        assert talking.running.turns.problem is None


def test_an_empty_chunk_does_not_end_an_answer(tmp_path: Path) -> None:
    heard: list[LiveText] = []
    script: list[Step] = [Delta(""), "One ", Delta(""), "two."]
    with parlour(tmp_path, [script]) as talking:
        talking.running.turns.live.watch(heard.append)
        assert talking.ask("Hi.") == "One two."
        talking.running.turns.stop()
    assert [(words.offset, words.text) for words in heard] == [(0, "One "), (4, "two."), (8, "")]


def test_notes_of_a_tool_are_recorded_on_the_branch_of_the_answer(tmp_path: Path) -> None:
    go = gate()
    call = ToolCall("c", "remember", {"kind": "decision", "text": "We plant plums."})
    with parlour(tmp_path, [["Hm. ", go, call], "Noted.", "Other."]) as talking:
        first = talking.say("Plums?")
        talking.until_streaming(first.turn_id)
        second = talking.talk.edit(first.message_id, OutgoingMessage("Pears?"), USER)
        go.set()
        for sent in (first, second):
            talking.until_ended(sent.turn_id)
        with talking.engine.reading() as reader:
            assert notes.list_notes(reader, HOME) == []
        with talking.engine.reading(branch=first.branch) as reader:
            assert [note.text for note in notes.list_notes(reader, HOME)] == ["We plant plums."]


def test_the_same_edit_sent_twice_is_one_edit(tmp_path: Path) -> None:
    with parlour(tmp_path, ["One.", "Two."]) as talking:
        first = talking.say("Hi.")
        talking.until_ended(first.turn_id)
        edits = [talking.talk.edit(first.message_id, OutgoingMessage("Ho.", letter_id="e"), USER)]
        talking.until_ended(edits[0].turn_id)
        edits.append(
            talking.talk.edit(first.message_id, OutgoingMessage("Ho.", letter_id="e"), USER)
        )
        assert edits[0] == edits[1]
        assert talking.said() == [("user", "Ho."), ("assistant", "Two.")]
        with pytest.raises(Conflict) as refused:
            talking.say("Other words.", letter="e")
        assert refused.value.hint


def test_a_half_created_home_thread_is_opened(tmp_path: Path) -> None:
    with Engine.open(tmp_path, settings=PLAIN, ports=DeterministicPorts().ports) as engine:
        engine.log.create_tree("thread:home", actor="user")
        running = Services(engine, PLAIN, ScriptedModel())
        running.talk.home_thread(USER)
        with engine.reading() as reader:
            assert threads.find_thread(reader, HOME).title == "Home"


def test_an_answer_on_another_branch_is_indexed_after_switching_to_it(
    tmp_path: Path,
) -> None:
    go = gate()
    with parlour(tmp_path, [["Old ", go, "plum."], "New."]) as talking:
        first = talking.say("Hi.")
        talking.until_streaming(first.turn_id)
        second = talking.talk.regenerate(first.message_id, USER)
        go.set()
        for sent in (first, second):
            talking.until_ended(sent.turn_id)
        talking.running.remembering.start()
        assert talking.running.remembering.idle.wait(60)
        talking.talk.switch_branch(HOME, first.branch, USER)
        wanted = talking.answer(first).message_id
        for fact in talking.engine.follow():
            if isinstance(fact.event, Remembered) and fact.event.item_id == wanted:
                break
        talking.running.remembering.stop()
        assert talking.talk.search(SearchQuery("plum")).found[0].message.text == "Old plum."
