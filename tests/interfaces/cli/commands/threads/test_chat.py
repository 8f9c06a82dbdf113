"""`everloop chat`: at a terminal, with another process, and without a terminal."""

import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine, Terminal
from tests.thread.fixtures import PLAIN, Parlour, gate, parlour

from everloop.app import USER, Engine
from everloop.interfaces.cli.commands.threads.chat import run_chat_loop
from everloop.interfaces.cli.commands.threads.chat_session import ChatSession
from everloop.interfaces.cli.session import Session
from everloop.interfaces.cli.streams import Streams
from everloop.ports import ToolCall
from everloop.services import Services
from everloop.testing.model import Script, ScriptedModel
from everloop.thread.model.commands import HOME

OFFLINE = {"EVERLOOP_MEMORY_EMBEDDER": "none", "EVERLOOP_MODELS_NARRATIVE": "offline"}
PATIENCE_S = 60.0
STYLE = re.compile(r"\x1b\[[0-9;]*m")  # how rich makes words bold or coloured


class Screen(Terminal):
    """A terminal on which a test can wait for text."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Condition()

    def write(self, text: str) -> int:
        with self.written:
            self.written.notify_all()
            return super().write(text)

    def wait_for(self, words: str) -> None:
        with self.written:
            assert self.written.wait_for(lambda: words in self.getvalue(), PATIENCE_S)


def room(
    running: Services, typed: str = "", *, at_terminal: bool = True
) -> tuple[ChatSession, Screen]:
    """A chat with typed input, and its output."""
    screen = Screen()
    stdin = Terminal(typed) if at_terminal else io.StringIO(typed)
    asked = Namespace(json=False, tenant="local", yes=False, home=None)
    session = Session(asked, Streams(stdin, screen, io.StringIO(), {}))
    return ChatSession(session, running, HOME), screen


def typed(talking: Parlour, *lines: str) -> str:
    """The terminal output after typing these lines."""
    chat, screen = room(talking.running, "".join(f"{line}\n" for line in lines))
    run_chat_loop(chat)
    return STYLE.sub("", screen.getvalue())


@pytest.fixture
def talking(tmp_path: Path) -> Generator[Parlour]:
    with parlour(tmp_path, ["Hello.", "Second.", "Third."]) as talking:
        yield talking


def test_a_typed_message_gets_an_answer(talking: Parlour) -> None:
    assert "Hello.\n" in typed(talking, "Hi.", "/quit")
    assert talking.said() == [("user", "Hi."), ("assistant", "Hello.")]


def test_a_message_can_span_lines(talking: Parlour) -> None:
    typed(talking, "one\\", "two", '"""', "three", "", "four", '"""')
    assert [text for role, text in talking.said() if role == "user"] == [
        "one\ntwo",
        "three\n\nfour",
    ]


def test_a_chat_starts_with_the_messages_of_the_last_day(talking: Parlour) -> None:
    now = room(talking.running)[0].session.now
    for words, days in (("Long ago.", 3), ("Just now.", 0)):
        talking.stage.clock.time = now - timedelta(days=days)
        talking.ask(words)
    shown = typed(talking)
    assert "Just now." in shown
    assert "Long ago." not in shown
    assert "For older messages: everloop threads show home" in shown


def test_an_answer_shows_the_tools_that_were_used(tmp_path: Path) -> None:
    call = ToolCall("c", "recall", {"query": "x"})
    with parlour(tmp_path, [[call], "Nothing."]) as talking:
        assert "[recall]" in typed(talking, "Look.")


def test_escape_sequences_in_an_answer_are_escaped(tmp_path: Path) -> None:
    with parlour(tmp_path, ["\x1b[2Jboo"]) as talking:
        shown = typed(talking, "Hi.")
    assert "\x1b[2J" not in shown
    assert "␛[2Jboo" in shown


def test_a_rewind_is_previewed_and_can_be_undone(talking: Parlour) -> None:
    shown = typed(talking, "Hi.", "And?", "/rewind", "y", "/undo")
    assert "user: And?" in shown
    assert "the messages are restored" in shown
    assert len(talking.said()) == 4
    typed(talking, "/rewind 2", "n")
    assert len(talking.said()) == 4
    typed(talking, "/rewind 2", "y")
    assert talking.said() == [("user", "Hi."), ("assistant", "Hello.")]


def test_a_message_is_retracted_after_a_preview(talking: Parlour) -> None:
    shown = typed(talking, "A slip.", "/retract 2", "y")
    assert "facts would be hidden" in shown
    assert "To undo: everloop log retract" in shown
    assert talking.said() == []


def test_conversations_are_created_and_switched(talking: Parlour) -> None:
    shown = typed(
        talking, "/new Garden", "Beds?", "/threads", "/thread home", "/zoom day:2026-01-01"
    )
    assert "Garden" in shown
    assert talking.said() == []


def test_another_answer_can_be_requested(talking: Parlour) -> None:
    assert "Second." in typed(talking, "Hi.", "/again")
    assert talking.said() == [("user", "Hi."), ("assistant", "Second.")]


def test_messages_are_found_by_search(talking: Parlour) -> None:
    talking.ask("The kettle is red.")
    talking.remembered()
    assert "The kettle is red." in typed(talking, "/search kettle")


def test_an_error_is_printed_and_the_chat_continues(talking: Parlour) -> None:
    shown = typed(
        talking,
        "/fly",
        "/rewind x",
        "/rewind",
        "/undo",
        "/search",
        "/zoom day:x",
        "/model !",
        "Hi.",
    )
    assert shown.count("hint:") == 7
    assert "Hello." in shown


def test_the_model_can_be_switched(talking: Parlour) -> None:
    shown = typed(talking, "/model", "/model offline", "Hi.")
    assert "Current model: scripted" in shown
    assert "Hello. Tell me something to keep" in shown


@pytest.mark.promise("P-CHAT-1")
def test_an_interrupt_stops_the_answer_and_keeps_the_partial_text(tmp_path: Path) -> None:
    never = gate()
    script: list[Script] = [["Once upon ", never, "a time"]]
    with parlour(tmp_path, script) as talking:
        chat, screen = room(talking.running)
        main = threading.get_ident()

        def interrupt() -> None:
            screen.wait_for("Once upon")
            signal.pthread_kill(main, signal.SIGINT)

        threading.Thread(target=interrupt).start()
        chat.send_and_show("Tell me.")
        assert "Stopped. The partial answer is saved." in screen.getvalue()
        assert talking.said()[-1] == ("assistant", "Once upon ")


def test_an_answer_of_another_process_arrives_through_the_log(
    talking: Parlour, tmp_path: Path
) -> None:
    assert talking.running.turns.leads.wait(PATIENCE_S)
    with Engine.open(tmp_path, settings=PLAIN) as engine:
        beside = Services(engine, PLAIN, ScriptedModel(["Never asked."]))
        beside.turns.start()
        chat, screen = room(beside)
        chat.send_and_show("Hi.")
        assert "Hello.\n" in screen.getvalue()
        beside.turns.stop()


@pytest.mark.promise("P-CHAT-1")
def test_an_answer_of_another_process_is_streamed_and_can_be_stopped(
    tmp_path: Path,
) -> None:
    first, second = gate(), gate()
    script: list[Script] = [["Once ", first, "upon ", second, "a time."], "Next."]
    with parlour(tmp_path, script) as talking, beside(talking, tmp_path) as other:
        chat, screen = room(other)
        main = threading.get_ident()

        def watch() -> None:
            screen.wait_for("Once ")
            first.set()
            screen.wait_for("Once upon ")
            signal.pthread_kill(main, signal.SIGINT)

        threading.Thread(target=watch).start()
        chat.send_and_show("Tell me.")
        assert "Stopped. The partial answer is saved." in screen.getvalue()
        assert talking.said()[-1] == ("assistant", "Once upon ")
        chat.send_and_show("And?")
        assert screen.getvalue().count("Next.") == 1
        assert os.listdir(tmp_path / "everloop.live") == []


@contextmanager
def beside(talking: Parlour, folder: Path) -> Generator[Services]:
    """A second engine on the same log, like another process, that generates no answers."""
    assert talking.running.turns.leads.wait(PATIENCE_S)
    talking.running.relay.start()
    with Engine.open(folder, settings=PLAIN) as engine:
        other = Services(engine, PLAIN, ScriptedModel(["Never asked."]))
        other.relay.start()
        other.turns.start()
        yield other
        other.turns.stop()
        other.relay.stop()
    talking.running.relay.stop()


def test_a_model_failure_is_printed_with_a_hint(tmp_path: Path) -> None:
    with parlour(tmp_path, []) as talking:
        assert "Failed: the script of" in typed(talking, "Hi.")


def test_without_a_terminal_chat_answers_one_message(tmp_path: Path) -> None:
    everloop = CommandLine(tmp_path, OFFLINE)
    everloop.typed("grants", "allow", "agent:cli", "*")
    answer = everloop("chat", piped="What do you know?\n")
    assert answer.code == 0
    assert "I keep what you tell me" in answer.out
    document = everloop("chat", "--json", piped="And now?").document
    assert (document["thread_id"], document["state"]) == ("home", "done")
    assert everloop("chat", piped=" \n").code != 0
    assert everloop("chat", "nowhere", piped="Hi.").code != 0
    shown = everloop.typed("threads", "show", "home", "--json").document["messages"]
    assert [one["role"] for one in shown] == ["user", "assistant"] * 2
    facts = everloop.typed("log", "tail", "--kind", "thread.message_sent", "--json").document
    assert "agent:cli" in str(facts)


def test_a_real_terminal_has_line_editing_and_quits_with_ctrl_d(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "everloop", "--home", str(tmp_path), "chat"]
    process = subprocess.Popen(  # noqa: S603 - our own programme
        words, stdin=theirs, stdout=theirs, stderr=theirs, env={**OFFLINE, "TERM": "xterm"}
    )
    os.close(theirs)
    seen = _until(ours, b"> ", b"")
    os.write(ours, b"Helli\x7fo there\r")  # a letter is mended
    seen = _until(ours, b"Tell me something to keep", seen)
    seen = _until(ours, b"> ", b"")
    os.write(ours, b"\x04")
    assert process.wait(PATIENCE_S) == 0
    os.close(ours)
    with Engine.open(tmp_path, settings=PLAIN) as engine:
        chat, _ = room(Services(engine, PLAIN, ScriptedModel()))
        (first, _) = chat.history()
        assert (first.text, chat.by.actor) == ("Hello there", USER.actor)


def _until(terminal: int, words: bytes, seen: bytes) -> bytes:
    deadline = time.monotonic() + PATIENCE_S
    while words not in seen and time.monotonic() < deadline:
        if select.select([terminal], [], [], 1)[0]:
            seen += os.read(terminal, 4096)
    assert words in seen
    return seen
