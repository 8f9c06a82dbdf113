"""The service of worlds: open one, play in it, and go back, as the doors and the engine use it."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Literal

import msgspec

from everloop.errors import Conflict, NotFound
from everloop.log import Command, CommandBus, Context, Fact, Impact, Log, Receipt, visible
from everloop.log.idempotency import first_result, new_id_for, step_request_id
from everloop.memory.service import MemoryService
from everloop.worlds.browse.branches import check_branch
from everloop.worlds.browse.inspector import InspectedPrompt, inspect_character
from everloop.worlds.carried_marks import carried_marks
from everloop.worlds.exchange.card_lore import character_lore
from everloop.worlds.exchange.formats.macros import expand_macros
from everloop.worlds.exchange.model.commands import ImportedMessage, ImportMessages
from everloop.worlds.message_parsing import directions, parse_message, told_text
from everloop.worlds.model import commands as c
from everloop.worlds.model import story_commands as s
from everloop.worlds.model.checks import existing_world, parse_clock, require_present, require_scene
from everloop.worlds.model.events import TurnRecorded
from everloop.worlds.model.state import WORLD, World, world_stream
from everloop.worlds.model.story_commands import SetLoreEntry
from everloop.worlds.model.values import PLAYER, CharacterSheet, Place
from everloop.worlds.prompt.builder import WorldPromptBuilder
from everloop.worlds.queries import (
    StoryMessage,
    effect_positions,
    find_character,
    find_story_message,
    last_mark_and_changes_since,
    story_messages,
)
from everloop.worlds.settings import WorldSettings
from everloop.worlds.speakers import next_speaker
from everloop.worlds.witness_memory import WitnessMemory

SPEAKING_NOW = 20  # newest messages by which it is decided who speaks
GO_ON = "Go on where {name} stopped, without repeating anything."
READ_AGAIN = "the message is read again"
LEFT_BEHIND = "another version was chosen"


class Opening(msgspec.Struct, frozen=True):
    """How a world begins: who plays whom, where, when, and with which character of the library."""

    title: str
    player_name: str
    clock: str
    place: Place
    character_ids: tuple[str, ...] = ()
    player_description: str = ""
    premise: str = ""
    weather: str = ""
    met: str = ""
    greet: bool = False  # begin with the greeting on the first character's card
    owner_lore: bool = False  # lore on a card is known to its character alone


class Line(msgspec.Struct, frozen=True):
    """What the player wrote. Empty `witnesses` are all who are present."""

    text: str
    speaker: str = PLAYER
    addressee: str = ""
    witnesses: tuple[str, ...] = ()
    message_id: str = ""
    reply: bool = True
    reply_by: str = ""  # empty: whoever's turn it is


class TimeSkip(msgspec.Struct, frozen=True):
    """How much time goes by, and how: inside the scene, by a jump, or as its length says."""

    minutes: int
    narration: str = ""
    how: Literal["auto", "elide", "jump"] = "auto"


class RequestedReply(msgspec.Struct, frozen=True):
    """A reply that was requested: by whom, in which message. No turn: none was."""

    written: str
    turn_id: str = ""
    message_id: str = ""
    speaker: str = ""


class WorldService:
    """The worlds of one log.

    A call whose context names a request is carried out once: repeated, it changes nothing more.
    """

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        memory: Callable[[], MemoryService],
        settings: WorldSettings = WorldSettings(),  # noqa: B008 - it is frozen
    ) -> None:
        self._log, self._bus, self.settings = log, bus, settings
        self.memories = WitnessMemory(log, bus, memory, settings)

    @cached_property
    def prompts(self) -> WorldPromptBuilder:
        """What puts the prompt of a speaker together."""
        return WorldPromptBuilder(self._log, self.memories.recall, self.settings)

    def author(self, sheet: CharacterSheet, by: Context) -> str:
        """Add a character to the library and return its id."""
        character_id = new_id_for(self._log.ids, "chr", by)
        self._do(c.AuthorCharacter(character_id, sheet), by)
        return character_id

    def open(self, opening: Opening, by: Context) -> str:
        """Open a world with its first scene, and return its id."""
        world_id = new_id_for(self._log.ids, "wld", by)
        if first_result(self._log, by):
            return world_id
        with self._log.reading() as reader:
            sheets = {each: find_character(reader, each).sheet for each in opening.character_ids}
        names = {each: sheet.name for each, sheet in sheets.items()}
        self._log.create_tree(world_stream(world_id), actor=by.actor)
        begin: list[Command] = [
            c.OpenWorld(
                world_id,
                opening.title,
                opening.player_name,
                opening.clock,
                opening.player_description,
            ),
            *(c.JoinCast(world_id, each, name, opening.met) for each, name in names.items()),
            c.DefinePlace(world_id, opening.place),
            c.OpenScene(
                world_id,
                new_id_for(self._log.ids, "scn", by),
                opening.place.place_id,
                ("you", *names),
                opening.premise,
                opening.weather,
            ),
            *(
                SetLoreEntry(world_id, entry)
                for each, sheet in sheets.items()
                for entry in character_lore(each, sheet, owner_only=opening.owner_lore)
            ),
        ]
        if opening.greet and sheets:
            begin += self._greeting(world_id, opening, next(iter(sheets.items())), by)
        for number, command in enumerate(begin, start=1):
            self._do(command, by, step=f"{number}" if number < len(begin) else "")
        return world_id

    def _greeting(
        self, world_id: str, opening: Opening, first: tuple[str, CharacterSheet], by: Context
    ) -> list[Command]:
        """The greeting on a character's card, with the other greetings as its versions."""
        character_id, sheet = first
        name = sheet.nickname or sheet.name
        greetings = [expand_macros(one, name, opening.player_name) for one in sheet.greetings]
        texts = tuple(one for one in greetings if one.strip())
        if not texts:
            return []
        people = (PLAYER, *opening.character_ids)
        message_id = new_id_for(self._log.ids, "msg", by)
        message = ImportedMessage(message_id, character_id, texts[0], people, versions=texts)
        return [ImportMessages(world_id, (message,))]

    def world(self, world_id: str, branch: str | None = None) -> World:
        """The situation in a world.

        Raises:
            NotFound: there is no such world.
        """
        state = self._log.state(WORLD, world_stream(world_id), branch=branch)
        return existing_world(state, world_id)

    def inspect(self, world_id: str, who: str) -> InspectedPrompt:
        """The prompt that someone's next reply is made of, and what they are not told."""
        world = self.world(world_id)
        require_present(world, who)
        made = self.prompts.build(world_id, who)
        with self._log.reading() as reader:
            return inspect_character(reader, world_id, world, who, made, self.prompts.budget)

    # -- playing -----------------------------------------------------------------------------------

    def say(self, world_id: str, line: Line, by: Context) -> RequestedReply:
        """Write a line in the open scene and request the reply of whoever is to speak next.

        With a `message_id` that exists, nothing is written again. A line that is all outside the
        story directs the reply and is no message.
        """
        passages = parse_message(line.text)
        message_id = line.message_id or new_id_for(self._log.ids, "msg", by)
        if first := first_result(self._log, by):
            return _first_reply(first, message_id if told_text(passages) else "")
        if passages and not told_text(passages):
            told = directions(passages)
            return self.request_reply(world_id, by, speaker=line.reply_by, direction=told)
        if not by.request and line.message_id and self._exists(world_id, message_id):
            return RequestedReply(message_id)
        self._do(
            c.WriteMessage(
                world_id,
                message_id,
                line.speaker,
                line.text,
                passages,
                line.addressee,
                line.witnesses,
            ),
            by,
            step="line" if line.reply else "",
        )
        if not line.reply:
            return RequestedReply(message_id)
        reply = self.request_reply(world_id, by, speaker=line.reply_by)
        return msgspec.structs.replace(reply, written=message_id)

    def request_reply(
        self, world_id: str, by: Context, *, speaker: str = "", direction: str = ""
    ) -> RequestedReply:
        """Request a reply: of someone, of the narrator, or of whoever's turn it is."""
        if first := first_result(self._log, by):
            return _first_reply(first)
        world = self.world(world_id)
        with self._log.reading() as reader:
            scene_id = world.scene.scene_id if world.scene else ""
            said = story_messages(reader, world_id, scene_id=scene_id, limit=SPEAKING_NOW)
        who = next_speaker(world, [one for one in said if one.counts], speaker)
        turn_id = new_id_for(self._log.ids, "trn", by)
        message_id = new_id_for(self._log.ids, "msg-reply" if by.request else "msg", by)
        self._do(c.RecordTurn(world_id, turn_id, message_id, who, direction), by)
        return RequestedReply("", turn_id, message_id, who)

    def continue_reply(self, world_id: str, by: Context) -> RequestedReply:
        """Let whoever spoke last go on, in a message of its own."""
        if first := first_result(self._log, by):
            return _first_reply(first)
        world = self.world(world_id)
        if world.newest is None:
            raise Conflict("nobody has spoken yet", hint="Say something first.")
        speaker = world.newest.speaker
        name = world.name_of(speaker) or speaker
        return self.request_reply(world_id, by, speaker=speaker, direction=GO_ON.format(name=name))

    def impersonate(self, world_id: str, by: Context, direction: str = "") -> RequestedReply:
        """Let the model write what the player says next."""
        return self.request_reply(world_id, by, speaker=PLAYER, direction=direction)

    def edit(self, world_id: str, message_id: str, text: str, by: Context) -> None:
        """Give a message another text; what came of the old one is taken back."""
        if first_result(self._log, by):
            return
        with self._log.reading() as reader:
            message = find_story_message(reader, world_id, message_id)
        passages = parse_message(text)
        self._mark(
            world_id,
            message_id,
            c.EditMessage(world_id, message_id, message.chosen, text, passages),
            by,
        )

    def hide(self, world_id: str, message_id: str, by: Context) -> None:
        """Hide a message from models; what came of it is taken back."""
        self._mark(world_id, message_id, c.HideMessage(world_id, message_id), by)

    def unhide(self, world_id: str, message_id: str, by: Context) -> None:
        """Let a hidden message count again."""
        self._mark(world_id, message_id, c.UnhideMessage(world_id, message_id), by)

    def correct_witnesses(self, correction: c.CorrectWitnesses, by: Context) -> None:
        """Say who witnessed a message; what came of it is made again for them."""
        self._mark(correction.world_id, correction.message_id, correction, by)

    def _mark(
        self,
        world_id: str,
        message_id: str,
        command: Command,
        by: Context,
        branch: str | None = None,
    ) -> None:
        """Change what counts of a message. What came of it goes, also what just came of it."""
        if not first_result(self._log, by):
            self._take_back_effects(world_id, message_id, by, branch=branch)
            marked = self._do(command, by, branch=branch)
            before = marked.position
            self._take_back_effects(world_id, message_id, by, before=before, branch=branch)

    def redo_effects(self, world_id: str, message_id: str, by: Context) -> int:
        """Take back what was read from a message, so that it is read again; how much it was."""
        with self._log.reading() as reader:
            find_story_message(reader, world_id, message_id)
            positions = effect_positions(reader, world_id, message_id)
        if positions and first_result(self._log, by) is None:
            self._retract(positions, READ_AGAIN, by)
        return len(positions)

    # -- scenes and time ---------------------------------------------------------------------------

    def close_scene(self, world_id: str, by: Context, reason: str = "") -> Receipt:
        """Close the open scene. Everyone who witnessed some of it gets a summary of their own."""
        scene = require_scene(self.world(world_id))
        return self._do(c.CloseScene(world_id, scene.scene_id, reason), by)

    def skip_time(self, world_id: str, skip: TimeSkip, by: Context) -> None:
        """Let time go by: inside the scene if it is short, else by a jump that closes the scene."""
        if first_result(self._log, by):
            return
        world = self.world(world_id)
        jumps = skip.minutes > self.settings.elision_minutes_max or world.scene is None
        if skip.how == "jump" or (skip.how == "auto" and jumps):
            to = parse_clock(world.clock) + timedelta(minutes=skip.minutes)
            self._do(s.JumpTime(world_id, to.isoformat(), skip.narration), by)
        else:
            self._do(s.ElideTime(world_id, skip.minutes, skip.narration), by)

    def request_version(self, world_id: str, message_id: str, direction: str, by: Context) -> str:
        """Swipe: request another version of the newest reply, and undo what came of this one."""
        if first := first_result(self._log, by):
            return _first_reply(first).turn_id
        with self._log.reading() as reader:
            message = find_story_message(reader, world_id, message_id)
        turn_id = new_id_for(self._log.ids, "trn", by)
        self._take_back_choice(world_id, message_id, by)
        self._do(c.RecordTurn(world_id, turn_id, message_id, message.speaker, direction), by)
        return turn_id

    def choose_version(self, world_id: str, message_id: str, version_id: str, by: Context) -> None:
        """Choose a version of the newest reply; what came of the other one is taken back."""
        if first_result(self._log, by):
            return
        newest = self.world(world_id).newest
        if newest is not None and newest.message_id == message_id:
            if newest.chosen == version_id:
                return
            if version_id in newest.versions:
                self._take_back_choice(world_id, message_id, by)
        self._do(c.ChooseVersion(world_id, message_id, version_id), by)

    def preview_rewind(self, world_id: str, message_id: str) -> Impact:
        """What would stop counting if the world went back to just before a message."""
        at = self._before(world_id, message_id)
        return self._log.preview_rewind(at, tree=world_stream(world_id))

    def rewind(self, world_id: str, message_id: str, by: Context) -> int:
        """Go back to just before a message; returns the position of the fact that says so.

        The story so far stays on its own branch.
        """
        if first := first_result(self._log, by):
            return first[-1].position
        return self._rewind(world_id, self._before(world_id, message_id), by)

    def branch_after(self, world_id: str, message_id: str, by: Context) -> int:
        """Try another course from a message on. The story so far stays on its own branch.

        It begins as the story up to there reads now: what was edited, hidden or corrected since
        then stays so. The world goes on there once all of that is recorded.
        """
        if first := first_result(self._log, by):
            return first[-1].position
        with self._log.reading() as reader:
            message = find_story_message(reader, world_id, message_id)
            at, changed = last_mark_and_changes_since(reader, world_id, message)
        if not changed:
            return self._rewind(world_id, at, by)
        branch = new_id_for(self._log.ids, "branch", by)
        self._log.fork(
            parent=self._log.branches.current[world_stream(world_id)],
            at=at,
            name=branch,
            actor=by.actor,
            request_id=step_request_id(by, "fork"),
        )
        for was in changed:
            self._mark_as(world_id, was, _part_of(by, f"keep-{was.message_id}"), branch)
        name = step_request_id(by)
        return self._log.switch_branch(branch, actor=by.actor, request_id=name).position

    def _mark_as(self, world_id: str, was: StoryMessage, by: Context, branch: str) -> None:
        """Let a message count on a branch as it did on another."""
        with self._log.reading(branch=branch) as reader:
            message = find_story_message(reader, world_id, was.message_id)
        world = self._log.state(WORLD, world_stream(world_id), branch=branch)
        known = existing_world(world, world_id)
        for step, command in carried_marks(world_id, known, message, was):
            self._mark(world_id, was.message_id, command, _part_of(by, step), branch)

    def _rewind(self, world_id: str, at: int, by: Context) -> int:
        tree, request = world_stream(world_id), step_request_id(by)
        return self._log.rewind(at, tree=tree, actor=by.actor, request_id=request).position

    def switch_branch(self, world_id: str, branch: str, by: Context) -> None:
        """Go on with the story on another of its branches; this also undoes a rewind."""
        check_branch(self._log, world_id, branch)
        self._log.switch_branch(branch, actor=by.actor, request_id=step_request_id(by))

    def preview_retract(self, positions: Sequence[int]) -> Impact:
        """What would go if facts of a world were retracted."""
        return self._log.preview_retract(positions)

    def preview_retract_message(self, world_id: str, message_id: str) -> Impact:
        """What would go with a message."""
        return self._log.preview_retract(self._positions(world_id, message_id))

    def retract_message(self, world_id: str, message_id: str, reason: str, by: Context) -> int:
        """Retract a message with all that followed from it; returns where that is recorded."""
        if first := first_result(self._log, by):
            return first[-1].position
        return self._retract(self._positions(world_id, message_id), reason, by)

    def _retract(
        self,
        positions: Sequence[int],
        reason: str,
        by: Context,
        step: str = "",
        branch: str | None = None,
    ) -> int:
        name = step_request_id(by, step)
        done = self._log.retract(
            positions, reason=reason, actor=by.actor, branch=branch, request_id=name
        )
        return done.position

    def _do(
        self, command: Command, by: Context, step: str = "", branch: str | None = None
    ) -> Receipt:
        return self._bus.do(command, by=by, branch=branch, request_id=step_request_id(by, step))

    def _positions(self, world_id: str, message_id: str) -> list[int]:
        """What a message is made of: its versions with the turns that brought them, or its text."""
        with self._log.reading() as reader:
            message = find_story_message(reader, world_id, message_id)
            turns = [row[0] for row in reader.rows(_TURNS_OF, (message_id, world_id))]
        return turns + ([one.position for one in message.versions] or [message.position])

    def _take_back_effects(
        self,
        world_id: str,
        message_id: str,
        by: Context,
        *,
        before: int | None = None,
        branch: str | None = None,
    ) -> None:
        with self._log.reading(branch=branch) as reader:
            found = effect_positions(reader, world_id, message_id)
        positions = [one for one in found if before is None or one < before]
        if positions:
            step = "effects" if before is None else "effects read meanwhile"
            self._retract(positions, READ_AGAIN, by, step, branch)

    def _exists(self, world_id: str, message_id: str) -> bool:
        with self._log.reading() as reader:
            try:
                find_story_message(reader, world_id, message_id)
            except NotFound:
                return False
        return True

    def _before(self, world_id: str, message_id: str) -> int:
        with self._log.reading() as reader:
            message = find_story_message(reader, world_id, message_id)
            turns = reader.rows(_TURN_OF, (message_id, message.position))
        first = min((row[0] for row in turns), default=message.position)
        return min(first, message.position) - 1

    def _take_back_choice(self, world_id: str, message_id: str, by: Context) -> None:
        newest = self.world(world_id).newest
        if newest is not None and newest.message_id == message_id and newest.chosen:
            self._retract([newest.chosen_at], LEFT_BEHIND, by, "choice")


def _part_of(by: Context, part: str) -> Context:
    """The context of one call of several that a request makes."""
    return msgspec.structs.replace(by, request=step_request_id(by, part) or "")


def _first_reply(facts: Sequence[Fact], written: str = "") -> RequestedReply:
    """What a request was answered with when it was made first."""
    for fact in facts:
        if isinstance(fact.event, TurnRecorded):
            turn = fact.event
            return RequestedReply(written, turn.turn_id, turn.message_id, turn.speaker)
    return RequestedReply(written)


_TURNS_OF = f"""
SELECT t.position FROM world_turns t WHERE t.message_id = ? AND t.world_id = ?
AND t.phase = 'recorded' AND {visible("t")} ORDER BY t.position
"""  # noqa: S608 - our own condition
_TURN_OF = """
SELECT t.position FROM world_turns t
WHERE t.message_id = ? AND t.phase = 'recorded' AND t.position < ?
"""
