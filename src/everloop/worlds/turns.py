"""Turns of worlds: how a speaker's prompt is prepared and the steps of a reply are recorded."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import dropwhile, takewhile

from everloop.errors import NotFound
from everloop.log import Command, CommandBus, Context, Fact, Log, Receipt
from everloop.log.model.facts import BranchStood, Retracted
from everloop.memory.model.commands import KeepContext
from everloop.ports import Ids, Prompt, ToolCall, Usage
from everloop.turns.runner import Turn as RunnableTurn
from everloop.turns.scheduler import Effect
from everloop.turns.settings import AnswerOptions
from everloop.usage.recorder import UsageRecorder
from everloop.worlds.message_parsing import parse_message
from everloop.worlds.model import commands as c
from everloop.worlds.model import events as e
from everloop.worlds.model.checks import display_name
from everloop.worlds.model.state import WAITING, WORLD, OpenTurn, World, world_stream
from everloop.worlds.prompt.assemble import WorldPrompt
from everloop.worlds.prompt.builder import WorldPromptBuilder
from everloop.worlds.queries import list_worlds

CLAIM = "worlds.turns"
ENGINE = Context(actor="engine")
STREAM = "world:"
# How the note at the end of a prompt begins, which small models like to repeat.
_NOTE = re.compile(r"\[?Time: .*\d{4}, \d\d:\d\d\.")
ECHO_MIN = 20  # characters of a repeated line; a shorter one may be chance
SAME_LINE_MAX = 3  # times that a line may stand in a reply; small models run into loops
_SENT = "SELECT 1 FROM world_turns WHERE turn_id = ? AND phase = 'sending'"


class WorldTurns:
    """The turns of all worlds: which wait, and how each is prepared and recorded.

    `model` names the model that renders now; empty is the one that talks by default.
    """

    claim = CLAIM

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        ids: Ids,
        prompts: WorldPromptBuilder,
        usage: UsageRecorder,
        model: Callable[[], str] = str,
    ) -> None:
        self.log, self.bus, self.ids = log, bus, ids
        self.prompts, self.usage, self.model = prompts, usage, model
        self.scheduler = ids.new("conductor")  # this process, as `TurnSending` names it

    def streams(self) -> Iterable[str]:
        """The worlds in which turns may wait."""
        with self.log.reading() as reader:
            return [one.world_id for one in list_worlds(reader, archived=True)]

    def current_branch(self, stream_id: str) -> str | None:
        """The branch that a world is on."""
        tree = world_stream(stream_id)
        return self.log.branches.current_branch_of(tree).name if tree in self.log.branches else None

    def next_turn(
        self, stream_id: str, branch: str, running: Callable[[str], bool]
    ) -> RunnableTurn | None:
        """The turn that waits. One that was sent before, and not by us now, is ended here."""
        world = self._state(stream_id, branch)
        turn = world.turn if world is not None else None
        if world is None or turn is None:
            return None
        if turn.phase != WAITING:
            self.bus.do(c.LeaveUncertain(stream_id, turn.turn_id), by=ENGINE, branch=branch)
            return None
        if running(turn.turn_id) or self._was_sent(turn.turn_id):  # on another branch
            failed = c.FailTurn(stream_id, turn.turn_id, "it was sent on another branch")
            self.bus.do(failed, by=ENGINE, branch=branch)
            return None
        return WorldTurn(self, stream_id, turn, branch)

    def is_gone(self, turn: RunnableTurn) -> bool:
        """Whether a turn was retracted."""
        world = self._state(turn.stream_id, turn.branch)
        return world is None or world.turn is None or world.turn.turn_id != turn.turn_id

    def effect(self, fact: Fact) -> Effect | None:
        """What a fact means for turns: another one waits, one ended, a branch changed."""
        match fact.event:
            case e.TurnRecorded(world_id=world_id):
                return Effect(look=world_id)
            case e.TurnFailed(world_id=world_id, turn_id=turn_id):
                return Effect(look=world_id, stop=turn_id)
            case BranchStood(branch=branch):
                root = self.log.branches[branch].root
                return Effect(look=root.removeprefix(STREAM)) if root.startswith(STREAM) else None
            case Retracted():
                return Effect(look_everywhere=True)
            case _:
                return None

    def state(self, world_id: str, branch: str) -> World | None:
        """The situation in a world on a branch."""
        return self._state(world_id, branch)

    def _was_sent(self, turn_id: str) -> bool:
        with self.log.file.reading() as everywhere:
            return bool(everywhere.rows(_SENT, (turn_id,)))

    def _state(self, world_id: str, branch: str) -> World | None:
        return self.log.state(WORLD, world_stream(world_id), branch=branch)


class WorldTurn:
    """One turn of a world."""

    def __init__(self, source: WorldTurns, world_id: str, turn: OpenTurn, branch: str) -> None:
        self.stream_id, self.branch = world_id, branch
        self._source, self._turn = source, turn
        self._made: WorldPrompt | None = None

    @property
    def turn_id(self) -> str:
        """Its id."""
        return self._turn.turn_id

    @property
    def options(self) -> AnswerOptions:
        """How the reply is wanted: the world's style says it."""
        world = self._source.state(self.stream_id, self.branch)
        if world is None:
            return AnswerOptions(self._source.model())
        style = world.style
        return AnswerOptions(self._source.model(), style.temperature, style.reply_tokens)

    def prepare(self) -> Prompt:
        """Assemble the prompt. Of another version, the message itself is left out."""
        turn = self._turn
        self._made = self._source.prompts.build(
            self.stream_id,
            turn.speaker,
            branch=self.branch,
            direction=turn.direction,
            without=turn.message_id,
        )
        return self._made.prompt

    def begin(self, model: str) -> bool:
        """Record the prompt's ledger and that it is sent."""
        assert self._made is not None, "prepared before it is sent"
        source = self._source
        context_id = source.ids.new("ctx")
        ledger = source.prompts.ledger(self._made)
        kept = source.bus.do(KeepContext(context_id, ledger, (self._turn.position,)), by=ENGINE)
        sending = c.BeginSending(
            self.stream_id,
            self.turn_id,
            source.ids.new("ver"),
            model,
            context_id,
            source.scheduler,
            (kept.position,),
        )
        return bool(self._record(sending).facts)

    def begin_streaming(self) -> None:
        """Record that the first text arrived."""
        self._record(c.BeginStreaming(self.stream_id, self.turn_id))

    def save(self, text: str) -> None:
        """Record more of a long reply."""
        self._record(c.SaveReply(self.stream_id, self.turn_id, text))

    def call_tool(self, call: ToolCall, stop: threading.Event) -> str:
        """Refuse a tool: a speaker has none."""
        del stop
        raise NotFound(f"there is no tool {call.name!r}", hint="Write the reply.")

    def record_tool(self, call: ToolCall, result: str, *, failed: bool) -> None:
        """Record nothing: a speaker has no tools."""

    def record_reasoning(self, text: str) -> None:
        """Record nothing: what a model thought is no part of the story."""

    def record_usage(self, usage: Usage, duration_s: float) -> None:
        """Record what the call of the model cost."""
        self._source.usage.record(
            "world",
            usage,
            duration_s=duration_s,
            turn_id=self.turn_id,
            because=(self._turn.position,),
        )

    def finish(self, text: str, model: str, reason: str) -> None:
        """Record the whole reply."""
        self._finish(text, model, reason)

    def stop(self, text: str) -> None:
        """Record that it was stopped; the text so far is kept."""
        self._end(text, "stopped", "it was stopped", "")

    def fail(self, text: str, reason: str, hint: str) -> None:
        """Record that it failed; the text so far is kept."""
        self._end(text, "failed", reason, hint)

    def _end(self, text: str, finish: str, reason: str, hint: str) -> None:
        with suppress(NotFound):  # the world was deleted, and the turn with it
            if self._clean(text):
                self._finish(text, "", finish)
            else:
                self._record(c.FailTurn(self.stream_id, self.turn_id, reason, hint))

    def _finish(self, text: str, model: str, finish: str) -> None:
        said = self._clean(text)
        passages = parse_message(said)
        self._record(c.FinishTurn(self.stream_id, self.turn_id, said, model, finish, passages))

    def _clean(self, text: str) -> str:
        world = self._source.state(self.stream_id, self.branch)
        if world is None:
            return text.strip()
        names = [display_name(world, who) for who in world.people if who != self._turn.speaker]
        said = clean_reply(text, display_name(world, self._turn.speaker), names)
        return without_loop(without_echo(said, self._made.background if self._made else ""))

    def _record(self, command: Command) -> Receipt:
        return self._source.bus.do(command, by=ENGINE, branch=self.branch)


def clean_reply(text: str, speaker: str, others: Iterable[str]) -> str:
    """A reply without the speaker's name before it, and without lines that others would say.

    It ends where another speaks after them. If another speaks first, it begins where they do.
    """
    everyone = "|".join(map(re.escape, (speaker, *others)))
    first, *named = re.split(rf"(?m)^[ \t]*({everyone})[ \t]*:", text)
    said = [(speaker, first), *zip(named[::2], named[1::2], strict=True)]
    told = dropwhile(lambda one: one[0] != speaker or not one[1].strip(), said)
    own = takewhile(lambda one: one[0] == speaker, told)
    return "\n".join(part.strip() for _, part in own)


def without_echo(text: str, background: str) -> str:
    """A reply up to where a model repeats what its prompt tells the speaker alone.

    There are feelings and memories in it, and all who are present would hear them.
    """
    repeated = {line for line in map(_plain, background.splitlines()) if len(line) >= ECHO_MIN}
    return _before(text, lambda line: _plain(line) in repeated or bool(_NOTE.match(line.strip())))


def without_loop(text: str) -> str:
    """A reply up to where it says the same line once too often."""
    said = Counter[str]()

    def is_too_often(line: str) -> bool:
        said[_plain(line)] += bool(line.strip())
        return said[_plain(line)] > SAME_LINE_MAX

    return _before(text, is_too_often)


def _before(text: str, ends: Callable[[str], bool]) -> str:
    """A text up to the first line that ends it."""
    lines = takewhile(lambda line: not ends(line), text.splitlines(keepends=True))
    return "".join(lines).strip()


def _plain(line: str) -> str:
    return line.strip().removeprefix("[").removesuffix("]").strip()
