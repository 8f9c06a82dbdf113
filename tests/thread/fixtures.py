"""A conversation in a still world, with a model that says what it is told to say."""

import threading
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path

from everloop.app import USER, Engine
from everloop.log import Context
from everloop.memory.settings import MemorySettings
from everloop.memory.summaries.compress import SummaryText
from everloop.services import Services
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts, SequentialIds
from everloop.testing.model import Script, ScriptedModel
from everloop.thread.model.calendar_windows import CalendarWindow
from everloop.thread.model.commands import HOME, HideMessage
from everloop.thread.model.events import (
    AnswerGiven,
    Attachment,
    TurnFailed,
    TurnLeftUncertain,
    TurnStopped,
    TurnStreaming,
)
from everloop.thread.pyramid.summarise import SummaryPyramid
from everloop.thread.queries import threads
from everloop.thread.quoting import truncate_to_tokens
from everloop.thread.service import OutgoingMessage, SentMessage, ThreadService

PLAIN = Settings(memory=MemorySettings(embedder="none"))
PICTURE = b"\x89PNG\r\n of a qxheliotrope"
ENDS = (AnswerGiven, TurnStopped, TurnFailed, TurnLeftUncertain)


def show_picture(
    engine: Engine, words: str = "Look.", name: str = "cat.png"
) -> tuple[int, Attachment]:
    """Say something with a picture beside it; where that is recorded, and the picture."""
    kept = engine.files.store(name, "image/png", [PICTURE])
    talk = ThreadService(engine.log, engine, engine.memory)
    talk.home_thread(USER)
    sent = talk.send(HOME, OutgoingMessage(words, (kept,)), USER)
    with engine.reading() as reader:
        return threads.find_message(reader, sent.message_id).position, kept


class Parlour:
    """An engine at work, and the moves of a test."""

    def __init__(self, running: Services, model: ScriptedModel, stage: DeterministicPorts) -> None:
        self.running, self.model, self.stage = running, model, stage
        self.engine = running.engine
        self.talk = running.talk

    def say(
        self, text: str, *, thread: str = HOME, by: Context = USER, letter: str = ""
    ) -> SentMessage:
        """Say something and do not wait for the answer."""
        return self.talk.send(thread, OutgoingMessage(text, letter_id=letter), by)

    def ask(self, text: str, *, thread: str = HOME) -> str:
        """Say something and wait for the end of its turn; the answer's text."""
        sent = self.say(text, thread=thread)
        self.until_ended(sent.turn_id)
        return self.answer(sent).text

    def answer(self, sent: SentMessage) -> threads.ThreadMessage:
        """The answer of a turn that has ended."""
        with self.engine.reading(branch=sent.branch) as reader:
            turn = threads.find_turn(reader, sent.turn_id)
            return threads.find_message(reader, turn.answer_id)

    def turn(self, sent: SentMessage) -> threads.TurnView:
        """A turn as it stands."""
        with self.engine.reading(branch=sent.branch) as reader:
            return threads.find_turn(reader, sent.turn_id)

    def until_ended(self, turn_id: str) -> None:
        """Wait for the end of a turn."""
        for fact in self.engine.follow(after=0):
            if isinstance(fact.event, ENDS) and fact.event.turn_id == turn_id:
                return

    def until_streaming(self, turn_id: str) -> None:
        """Wait for the first words of a turn."""
        for fact in self.engine.follow(after=0):
            if isinstance(fact.event, TurnStreaming) and fact.event.turn_id == turn_id:
                return

    def said(self, thread: str = HOME) -> list[tuple[str, str]]:
        """What the thread shows: who, and what."""
        with self.engine.reading() as reader:
            page = threads.newest_messages(reader, thread, 500)
        return [(message.role, message.text) for message in page.messages]

    def hide(self, message_id: str, *, thread: str = HOME) -> None:
        """Fold a message away."""
        self.engine.do(HideMessage(thread, message_id))

    def plain_pyramid(self) -> SummaryPyramid:
        """A pyramid that sums up without a model: by the beginning of each line."""

        def summarise(window: CalendarWindow, lines: Sequence[str], budget: int) -> SummaryText:
            return SummaryText(
                window.key, truncate_to_tokens("\n".join(line[:80] for line in lines), budget)
            )

        return SummaryPyramid(self.engine.log, self.engine, self.engine.log.ids, summarise)

    def remembered(self) -> None:
        """Make memory of all that was said."""
        self.running.remembering.remember()


@contextmanager
def parlour(
    folder: Path,
    answers: Iterable[Script] | ScriptedModel = (),
    *,
    settings: Settings = PLAIN,
    ids_from: int = 0,
) -> Generator[Parlour]:
    """A conversation that is conducted; nothing else runs in the background.

    Two on one log count their ids from different numbers.
    """
    stage = DeterministicPorts(ids=SequentialIds(ids_from))
    model = answers if isinstance(answers, ScriptedModel) else ScriptedModel(answers)
    with Engine.open(folder, settings=settings, ports=stage.ports) as engine:
        running = Services(engine, settings, model)
        running.talk.home_thread(USER)
        running.turns.start()
        try:
            yield Parlour(running, model, stage)
        finally:
            running.turns.stop()


def gate() -> threading.Event:
    """Something that a scripted answer waits for."""
    return threading.Event()
