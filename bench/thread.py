"""A conversation of ten years: our own time from a recorded turn to the call of the model.

The prompt is a whole one: the dialogue of two days, the pyramid with summaries as long as they may
be, what memory has on the question, lessons, notes and tools; its ledger is kept and the turn is
taken before the model is called. Only the embedding of the question is left out.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from itertools import count, cycle
from pathlib import Path
from time import process_time

from bench import sample_memory
from bench.comparison import OWN_TIME, Claim, Outcome, Round, bounded, dearer, require
from bench.run_folder import RunFolder
from everloop.adapters.models.offline import BufferedStream
from everloop.app import USER, Engine
from everloop.memory.model.commands import RememberItem
from everloop.memory.settings import MemorySettings
from everloop.ports import Delta, Finish, Params, Prompt, Stream, Usage
from everloop.services import Services
from everloop.settings import Settings
from everloop.testing.shared_prefix import shared_share
from everloop.thread.background import local_today
from everloop.thread.model.calendar_windows import CalendarWindow, pyramid_windows
from everloop.thread.model.commands import (
    HOME,
    BeginImport,
    ImportMessages,
    NoteDecision,
    NoteSummary,
)
from everloop.thread.model.events import MessageImported
from everloop.thread.model.state import CONVERSATION, thread_stream
from everloop.thread.prompt.builder import PromptBuilder
from everloop.thread.quoting import TOKENS, truncate_to_tokens
from everloop.thread.service import OutgoingMessage
from everloop.thread.turns import ENGINE, ThreadTurn, ThreadTurns
from everloop.turns.live import LiveAnswers
from everloop.turns.runner import TurnRunner
from everloop.turns.settings import TurnSettings

FEW, MANY, YEARS, BATCH = 1_000, 100_000, 10, 5_000
DECISIONS = 40
WARM = 5  # turns before any is timed
PROMPT_MIN = 20_000  # characters, with a whole pyramid
GOAL_MS, GOAL_RATIO, GOAL_SHARED = 30.0, 2.0, 90.0


class Stopwatch:
    """A model that notes when it is called, and says one word."""

    name = "stopwatch"

    def __init__(self) -> None:
        self.called_at = 0.0
        self.told = Prompt(())

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """Note the time."""
        del params
        self.called_at, self.told = process_time(), prompt
        return BufferedStream([Delta("Yes."), Usage(self.name, 1, 1), Finish("stop")])


class Conversation:
    """A thread of so many messages over ten years, up to today."""

    def __init__(self, folder: Path, messages: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        settings = Settings(memory=MemorySettings(embedder="none"))
        self.engine = Engine.open(folder, settings=settings)
        self.model = Stopwatch()
        self.running = Services(self.engine, settings, self.model)
        self.running.talk.home_thread(USER)
        self._questions = cycle(sample_memory.questions())
        fill(self.engine, self.running, messages)
        self._preparing = PromptBuilder(
            self.engine.log,
            self.engine.memory,
            self.engine.ports.clock,
            limits=lambda: settings.thread.context,
        )

    def answer_ms(self) -> float:
        """How long the processor worked between a recorded turn and the call of the model."""
        turn_id = self._say()
        known = self.engine.log.state(CONVERSATION, thread_stream(HOME))
        turn = known.next_turn if known else None
        if turn is None or turn.turn_id != turn_id:
            raise RuntimeError("the measure is wrong: no turn was recorded")
        branch = thread_stream(HOME)
        source = ThreadTurns(
            self.engine.log,
            self.engine,
            self.engine.log.ids,
            self._preparing,
            self.running.tools,
            self.engine.usage,
        )
        answer = TurnRunner(
            ThreadTurn(source, HOME, turn, branch),
            lambda _: self.model,
            self.engine.ports.clock,
            TurnSettings(),
            LiveAnswers(),
        )
        start = process_time()
        answer.run()
        require(self.model.called_at > start, "the model was not called")
        require(len(self.model.told.system) > PROMPT_MIN, "the prompt was not full")
        return 1_000 * (self.model.called_at - start)

    def close(self) -> None:
        """Close the log."""
        self.running.close()
        self.engine.close()

    def _say(self) -> str:
        return self.running.talk.send(HOME, OutgoingMessage(next(self._questions)), USER).turn_id


def answering(run: RunFolder, *, messages: int) -> Outcome:
    """One turn after the other, in a long conversation."""
    title = f"from a recorded turn to the call of the model, among {messages:,} messages"
    claim = Claim("turn", title, "", "ms", "at most", goal=GOAL_MS, note=OWN_TIME)
    talk = _conversation(run, messages)
    for _ in range(WARM):
        talk.answer_ms()
    return bounded(claim, [talk.answer_ms() for _ in range(10 * run.pace(share=0.3)["rounds"])])


def growth(run: RunFolder, *, few: int, many: int) -> Outcome:
    """How many times dearer a turn is in a long conversation than in a short one."""
    title = f"from a recorded turn to the call of the model among {many:,} messages"
    claim = Claim("turn-growth", title, f"among {few:,}", "ms", "at most", GOAL_RATIO, OWN_TIME)
    short, long = _conversation(run, few), _conversation(run, many)
    turns = [_a_turn_of(long, short) for _ in range(WARM + 10 * run.pace(share=0.3)["rounds"])]
    return dearer(claim, turns[WARM:])


def prefix(run: RunFolder, *, messages: int) -> Outcome:
    """How much of a prompt begins as the one before it did, so that a service can have it cached.

    A turn before which a part of the dialogue was cut off counts too.
    """
    title = "tokens of a prompt that the prompt before it began with as well"
    claim = Claim("prompt-prefix", title, "", "%", "at least", GOAL_SHARED, "not across midnight")
    talk, shares = _conversation(run, messages), list[float]()
    talk.answer_ms()
    for _ in range(10 * run.pace(share=0.1)["rounds"]):
        before = talk.model.told
        talk.answer_ms()
        shares.append(100 * shared_share(before, talk.model.told))
    return bounded(claim, shares)


def measures() -> dict[str, partial[Outcome]]:
    """Every measure by name."""
    return {
        "turn": partial(answering, messages=MANY),
        "turn-growth": partial(growth, few=FEW, many=MANY),
        "prompt-prefix": partial(prefix, messages=FEW),
    }


_conversations: dict[int, Conversation] = {}  # made once in a run


def close() -> None:
    """Close the logs that were made for this run."""
    for one in _conversations.values():
        one.close()
    _conversations.clear()


def _conversation(run: RunFolder, messages: int) -> Conversation:
    if messages not in _conversations:
        folder = run.folder(f"thread-{messages}")
        _conversations[messages] = Conversation(folder, messages)
    return _conversations[messages]


def _a_turn_of(long: Conversation, short: Conversation) -> Round:
    return Round(1_000 / long.answer_ms(), 1_000 / short.answer_ms())


def fill(engine: Engine, running: Services, messages: int) -> None:
    """So many messages over ten years, their memory, a whole pyramid, and decisions."""
    engine.do(BeginImport(HOME, "imp", "bench", "bench"))
    for batch in _said(messages, engine.ports.clock.now()):
        engine.do(ImportMessages(HOME, "imp", tuple(batch)))
    running.remembering.remember()
    day = local_today(engine.log, engine.ports.clock)
    for window in pyramid_windows(day, day - timedelta(days=365 * YEARS)):
        _sum_up(engine, window)
    for number in range(DECISIONS):
        engine.do(NoteDecision(HOME, f"dec-{number}", f"We decided on number {number}."))


def _said(messages: int, now: datetime) -> Iterator[list[MessageImported]]:
    """Messages evenly over the years, the last of them now."""
    step = timedelta(days=365 * YEARS) / messages
    numbers = count()
    for first in range(0, messages, BATCH):
        texts = sample_memory.texts(first, min(BATCH, messages - first))
        yield [_message(next(numbers), text, now - step * messages, step) for text in texts]


def _message(number: int, text: str, begun: datetime, step: timedelta) -> MessageImported:
    at = (begun + step * number).isoformat()
    role = "assistant" if number % 2 else "user"
    return MessageImported(HOME, f"msg-{number}", role, text, at, "me", str(number), ())


def _sum_up(engine: Engine, window: CalendarWindow) -> None:
    """A summary of a window as long as it may be, straight from the messages."""
    budget = int(getattr(Settings().thread.detail, window.tier))
    words = " ".join(sample_memory.texts(window.first.toordinal() % 50_000, 400))
    text = truncate_to_tokens(words, budget)
    require(TOKENS(text) > budget // 2, "a summary is too short")
    item = RememberItem(f"sum-{window.key}", text, window.key, kind="summary")
    kept = engine.do(item, by=ENGINE)
    noted = NoteSummary(HOME, window.key, item.item_id, kept.position, (kept.position,))
    engine.do(noted, by=ENGINE)
