"""The effects of a turn: reads what was said since the last reading, and records what follows.

Each distinct set of witnesses is read by itself, from the messages that all of it witnessed. A
model that fails spoils nothing: rules still remember what was said, and the failure is recorded,
shown and can be tried again. What the player changes while it is read is read again.
"""

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from everloop.errors import EverloopError, ModelFailed, Rejected
from everloop.log import CommandBus, Context, Log
from everloop.memory.model.commands import RememberItem
from everloop.memory.significance.rules import rate_by_rules
from everloop.worlds.effects.apply import effect_commands, later_commands
from everloop.worlds.effects.names import find_people, find_person
from everloop.worlds.effects.read import TURN, Readings, turn_text
from everloop.worlds.effects.schema import TurnReading
from everloop.worlds.message_parsing import told_text
from everloop.worlds.model import commands as c
from everloop.worlds.model import effect_commands as f
from everloop.worlds.model import story_commands as s
from everloop.worlds.model.checks import display_name, parse_clock
from everloop.worlds.model.effect_events import ProposedWitnesses
from everloop.worlds.model.state import WORLD, World, world_stream
from everloop.worlds.model.values import NARRATOR, PLAYER, Trigger
from everloop.worlds.queries import (
    StoryMessage,
    find_story_message,
    scene_effects,
    story_messages,
)
from everloop.worlds.settings import WorldSettings
from everloop.worlds.speakers import interjecting
from everloop.worlds.witness_memory import GIST, LINE, WitnessMemory, memory_id, new_memory

ENGINE = Context(actor="engine")
BATCH = 40  # newest messages among which those that were not read are looked for
SCENE_MAX = 10_000  # messages of a scene that are looked at when it closes
BEFORE = 4  # messages before them that a model is shown, too
LINE_MAX = 1_000  # characters of a line that are remembered
WORDS_MIN = 3  # a shorter line is not worth remembering
GIST_MAX = 600
RULES = "rules"
CHANGES_MAX = 5  # how often a turn is read again because it was changed while it was read


class UnreadTurns(msgspec.Struct, frozen=True):
    """Messages that are read together, and those shortly before them."""

    world_id: str
    scene_id: str
    newest: StoryMessage
    messages: tuple[StoryMessage, ...]
    before: tuple[StoryMessage, ...]
    read_at: int

    @property
    def because(self) -> tuple[int, ...]:
        """What the effects are derived from: the messages, as they were chosen."""
        return tuple(dict.fromkeys(one.chosen_at or one.position for one in self.messages))


class Group(msgspec.Struct, frozen=True):
    """A set of witnesses, the messages that all of them witnessed, and what was read there."""

    witnesses: tuple[str, ...]
    messages: tuple[StoryMessage, ...]
    reading: TurnReading = TurnReading()


class Root(msgspec.Struct, frozen=True):
    """Where the effects of a batch begin, and what it says about how the scene goes on."""

    position: int
    scene_over: str = ""
    interjects: str = ""


class TurnEffects:
    """Reads turns and records what follows from them."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        readings: Readings,
        memory: WitnessMemory,
        settings: WorldSettings,
    ) -> None:
        self._log, self._bus, self._readings = log, bus, readings
        self._memory, self._settings = memory, settings

    def read_reply(self, world_id: str, message_id: str) -> None:
        """Read a reply and what was said before it. Nothing happens if it was read or is gone."""
        with suppress(Rejected):  # it was retracted
            for _ in range(CHANGES_MAX):
                batch = self._batch(world_id, message_id)
                if batch is None or self._read(batch):
                    break

    def read_rest(self, world_id: str, scene_id: str) -> None:
        """Read what was said in a scene after its last reply."""
        with self._log.reading() as reader:
            said = story_messages(reader, world_id, scene_id=scene_id, limit=SCENE_MAX)
            read = scene_effects(reader, world_id, scene_id)
        unread = [
            one.message_id
            for one in said
            if one.counts and not one.hidden and one.message_id not in read
        ]
        for last in sorted({*range(BATCH - 1, len(unread), BATCH), len(unread) - 1}):
            if last >= 0:
                self.read_reply(world_id, unread[last])

    def start_due_events(self, world_id: str, because: int) -> None:
        """Let planned events begin whose trigger the situation meets."""
        for event_id in due_events(self._world(world_id)):
            with suppress(Rejected):
                self._bus.do(s.StartEvent(world_id, event_id, (because,)), by=ENGINE)

    def _batch(self, world_id: str, message_id: str) -> UnreadTurns | None:
        with self._log.reading() as reader:
            read_at = reader.head()
            newest = find_story_message(reader, world_id, message_id)
            read = scene_effects(reader, world_id, newest.scene_id)
            said = story_messages(
                reader,
                world_id,
                scene_id=newest.scene_id,
                before=newest.position + 1,
                limit=BATCH,
            )
        if message_id in read or not newest.counts:
            return None
        unread: list[StoryMessage] = []
        for one in reversed(said):
            if one.message_id in read:
                break
            unread.insert(0, one)
        told = tuple(one for one in unread if one.counts and not one.hidden)
        if not told:
            return None
        first = len(said) - len(unread)
        before = tuple(one for one in said[max(0, first - BEFORE) : first] if one.counts)
        return UnreadTurns(world_id, newest.scene_id, newest, told, before, read_at)

    def _read(self, batch: UnreadTurns) -> bool:
        """Read messages; whether that is recorded. Not so if one was changed meanwhile."""
        world = self._world(batch.world_id)
        problem, groups = "", _groups(batch)
        asked = self._readings.available
        if asked:
            try:
                groups = [self._read_group(world, batch, group) for group in groups]
            except ModelFailed as failure:
                problem = f"{failure}. {failure.hint}"
        root = self._record_root(world, batch, groups, problem, asked=asked)
        if root is None:
            return False
        self._follow_up(batch, groups, root.position)
        if self._is_of_this_branch(batch):
            with suppress(Rejected):  # the player was quicker
                self._go_on(batch, root)
        return True

    def _is_of_this_branch(self, batch: UnreadTurns) -> bool:
        """Whether the reply was given on the current branch.

        Where the story branched off, the player wants to go on, and nobody speaks unasked.
        """
        current = self._log.branches.current_branch_of(world_stream(batch.world_id)).name
        at = batch.newest.chosen_at or batch.newest.position
        return self._log.record(at).branch == current

    def _read_group(self, world: World, batch: UnreadTurns, group: Group) -> Group:
        """Read what this group alone witnessed. What others heard, too, is read with them."""
        members = set(group.witnesses)
        before = [one for one in batch.before if members <= set(one.witnesses) and not one.hidden]
        own = [one for one in group.messages if set(one.witnesses) == members]
        before += [
            one for one in group.messages if one not in own and one.position < own[-1].position
        ]
        text = turn_text(world, members, before, own)
        return msgspec.structs.replace(group, reading=self._readings.ask(TURN, text, TurnReading))

    def _record_root(
        self,
        world: World,
        batch: UnreadTurns,
        groups: Sequence[Group],
        problem: str,
        *,
        asked: bool,
    ) -> Root | None:
        where = (
            batch.world_id,
            batch.scene_id,
            batch.newest.message_id,
            batch.newest.chosen,
            tuple(one.message_id for one in batch.messages),
        )
        if problem:
            failed = f.RecordFailedExtraction(*where, problem, batch.because, batch.read_at)
            receipt = self._bus.do(failed, by=ENGINE)
            return Root(receipt.position) if receipt.facts else None
        public = _public(world, groups)
        reading = public.reading if public else TurnReading()
        effects = f.RecordEffects(
            *where,
            self._readings.name if asked else RULES,
            batch.because,
            max(group.reading.significance for group in groups),
            reading.scene_over.strip(),
            self._interjects(world, batch, reading, asked=asked),
            _proposed_witnesses(world, batch, reading),
            batch.read_at,
        )
        receipt = self._bus.do(effects, by=ENGINE)
        root = Root(receipt.position, effects.scene_over, effects.interjects)
        return root if receipt.facts else None

    def _interjects(
        self, world: World, batch: UnreadTurns, reading: TurnReading, *, asked: bool
    ) -> str:
        if not self._settings.interjections or world.scene is None:
            return ""
        who = find_person(world, reading.interjects) if asked else interjecting(world, batch.newest)
        silent = who in world.cast and who in world.scene.present and who != batch.newest.speaker
        return who if silent and batch.newest.speaker in world.cast else ""

    def _follow_up(self, batch: UnreadTurns, groups: Sequence[Group], root: int) -> None:
        world = self._world(batch.world_id)
        current = world.newest is not None and world.newest.message_id == batch.newest.message_id
        refused: list[str] = []
        for group in sorted(groups, key=lambda group: -len(group.witnesses)):
            world = self._world(batch.world_id)  # a whisper can be about what all just heard
            if current:
                new_id = self._log.ids.new
                where = (batch.world_id, world, group.reading, group.witnesses, root)
                commands = effect_commands(*where, new_id)
            else:
                commands = later_commands(
                    batch.world_id, world, group.reading, group.witnesses, root
                )
            for command in commands:
                try:
                    self._bus.do(command, by=ENGINE)
                except EverloopError as problem:
                    refused.append(str(problem))
        significance = max(group.reading.significance for group in groups)
        self._memory.store(self._memories(world, batch, groups, root), min(3, significance))
        if refused:
            message_id = batch.newest.message_id
            record = f.RecordRefusedEffects(batch.world_id, message_id, tuple(refused), (root,))
            self._bus.do(record, by=ENGINE)

    def _memories(
        self, world: World, batch: UnreadTurns, groups: Sequence[Group], root: int
    ) -> list[RememberItem]:
        """What was said by the player, word for word, and what a model read, for its witnesses.

        What a model wrote is never remembered as it is: it would be written again and again.
        """
        found: list[tuple[str, str, tuple[str, ...], str]] = []
        for one in batch.messages:
            text = told_text(one.passages)
            if not one.versions and len(text.split()) >= WORDS_MIN:
                name = display_name(world, one.speaker)
                line = text if one.speaker == NARRATOR else f"{name}: {text}"
                found.append((LINE, line[:LINE_MAX], one.witnesses, one.message_id))
        found += [
            (GIST, gist, group.witnesses, batch.newest.message_id)
            for group in groups
            if (gist := group.reading.gist.strip()[:GIST_MAX])
        ]
        return [
            new_memory(
                batch.world_id,
                memory_id(self._log.ids.new("mem"), message_id),
                text,
                kind=kind,
                witnesses=witnesses,
                clock=world.clock,
                scene_id=batch.scene_id,
                because=(root,),
            )
            for kind, text, witnesses, message_id in found
        ]

    def _go_on(self, batch: UnreadTurns, root: Root) -> None:
        """Close the scene or let someone interject, if the reading says so."""
        world = self._world(batch.world_id)
        if world.turn is not None or world.scene is None:
            return
        if root.scene_over and self._settings.close_scenes == "model":
            closing = c.CloseScene(
                batch.world_id, batch.scene_id, root.scene_over, (root.position,)
            )
            self._bus.do(closing, by=ENGINE)
        elif root.interjects and self._may_interject(batch, world):
            ids = self._log.ids
            turn = c.RecordTurn(
                batch.world_id,
                ids.new("trn"),
                ids.new("msg"),
                root.interjects,
                because=(root.position,),
            )
            self._bus.do(turn, by=ENGINE)

    def _may_interject(self, batch: UnreadTurns, world: World) -> bool:
        """Whether fewer characters have spoken since the player than may, unasked."""
        with self._log.reading() as reader:
            said = story_messages(reader, batch.world_id, scene_id=batch.scene_id, limit=BATCH)
        replies = 0
        for one in reversed(said):
            if one.speaker not in world.cast:
                break
            replies += 1
        return replies <= self._settings.interjections

    def _world(self, world_id: str) -> World:
        world = self._log.state(WORLD, world_stream(world_id))
        assert world is not None, "it has messages"
        return world


def due_events(world: World) -> list[str]:
    """Planned events that begin now: their time has come, at their place, with those they need."""
    scene = world.scene
    if scene is None:
        return []
    return [
        event_id
        for event_id, event in world.events.items()
        if event.status == "planned"
        and event.trigger != Trigger()
        and (not event.trigger.at or parse_clock(event.trigger.at) <= parse_clock(world.clock))
        and event.trigger.place_id in ("", scene.place_id)
        and set(event.trigger.present) <= set(scene.present)
    ]


def _groups(batch: UnreadTurns) -> list[Group]:
    """Each distinct set of witnesses, with the messages that all of it witnessed.

    Rules rate them, until a model has read them.
    """
    sets = dict.fromkeys(tuple(sorted(one.witnesses)) for one in batch.messages)
    return [_group(batch, witnesses) for witnesses in sets]


def _group(batch: UnreadTurns, witnesses: tuple[str, ...]) -> Group:
    heard = tuple(one for one in batch.messages if set(witnesses) <= set(one.witnesses))
    written = [told_text(one.passages) for one in heard if not one.versions]  # by a person
    significance = max(map(rate_by_rules, written), default=0)
    return Group(witnesses, heard, TurnReading(significance=significance))


def _public(world: World, groups: Sequence[Group]) -> Group | None:
    """The group that everyone present is in."""
    present = set(world.scene.present) if world.scene else set[str]()
    return next((group for group in groups if present <= set(group.witnesses)), None)


def _proposed_witnesses(
    world: World, batch: UnreadTurns, reading: TurnReading
) -> tuple[ProposedWitnesses, ...]:
    """The newest message with fewer witnesses, if some could not hear it."""
    deaf = set(find_people(world, reading.could_not_hear)) - {batch.newest.speaker, PLAYER}
    left = tuple(who for who in batch.newest.witnesses if who not in deaf)
    if not left or left == batch.newest.witnesses:
        return ()
    return (ProposedWitnesses(batch.newest.message_id, left),)
