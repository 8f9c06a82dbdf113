"""Registry of world commands: stream, state and decider of each, for the composition root."""

from typing import Any, Protocol

import msgspec

from everloop.log import Command, Decider, Reader, visible
from everloop.worlds.exchange.model import commands as x
from everloop.worlds.exchange.model import decide as d_exchange
from everloop.worlds.model import commands as c
from everloop.worlds.model import decide_characters as d_characters
from everloop.worlds.model import decide_effects as d_effects
from everloop.worlds.model import decide_messages as d_messages
from everloop.worlds.model import decide_people as d_people
from everloop.worlds.model import decide_scenes as d_scenes
from everloop.worlds.model import decide_story as d_story
from everloop.worlds.model import effect_commands as f
from everloop.worlds.model import story_commands as s
from everloop.worlds.model.state import (
    CHARACTER,
    LORE,
    WORLD,
    character_stream,
    lore_stream,
    world_stream,
)

_MESSAGE = f"""
SELECT m.position FROM world_messages m WHERE m.message_id = ? AND +m.world_id = ?
AND {visible("m")} ORDER BY m.position DESC LIMIT 1
"""  # noqa: S608 - our own condition


_EXISTING = f"""
SELECT m.message_id FROM json_each(?) j CROSS JOIN world_messages m INDEXED BY world_messages_id
ON m.message_id = j.value
WHERE m.world_id = ? AND m.act IN ('written', 'rendered') AND {visible("m")}
"""  # noqa: S608 - our own condition
_EFFECTS = f"""
SELECT 1 FROM world_effects x WHERE x.message_id = ? AND x.version_id = ? AND +x.world_id = ?
AND {visible("x")} LIMIT 1
"""  # noqa: S608 - our own condition
_CHANGED = f"""
SELECT 1 FROM json_each(?) j CROSS JOIN world_messages m INDEXED BY world_messages_id
ON m.message_id = j.value
WHERE m.world_id = ? AND m.position > ?
AND m.act IN ('edited', 'hidden', 'unhidden', 'corrected') AND {visible("m")} LIMIT 1
"""  # noqa: S608 - our own condition


class _CharacterCommand(Protocol):
    @property
    def character_id(self) -> str: ...


class _WorldCommand(Protocol):
    @property
    def world_id(self) -> str: ...


class _MessageCommand(_WorldCommand, Protocol):
    @property
    def message_id(self) -> str: ...


def _character(command: _CharacterCommand) -> str:
    return character_stream(command.character_id)


def _world(command: _WorldCommand) -> str:
    return world_stream(command.world_id)


def _lore(command: _WorldCommand) -> str:
    return lore_stream(command.world_id)


def message_position(reader: Reader, command: _MessageCommand) -> int:
    """The position of the message that a command names; 0 if none is visible."""
    rows = reader.rows(_MESSAGE, (command.message_id, command.world_id))
    return rows[0][0] if rows else 0


def existing_messages(reader: Reader, command: x.ImportMessages) -> set[str]:
    """Which of the messages to import exist."""
    named = msgspec.json.encode([one.message_id for one in command.messages]).decode()
    return {row[0] for row in reader.rows(_EXISTING, (named, command.world_id))}


def _imports(_: Command) -> str:
    return d_exchange.IMPORTS_STREAM


def _book(command: x.AddLorebook) -> str:
    return d_exchange.book_stream(command.book_id)


def is_outdated(reader: Reader, command: f.RecordEffects | f.RecordFailedExtraction) -> bool:
    """Whether a message was read already, or one of those read was changed meanwhile."""
    read = (command.message_id, command.version_id, command.world_id)
    if reader.rows(_EFFECTS, read):
        return True
    named = msgspec.json.encode((*command.messages, command.message_id)).decode()
    since = (named, command.world_id, command.read_at)
    return command.read_at is not None and bool(reader.rows(_CHANGED, since))


WORLD_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(c.AuthorCharacter, _character, CHARACTER, d_characters.author_character),
    Decider(c.ReviseCharacter, _character, CHARACTER, d_characters.revise_character),
    Decider(c.RemoveCharacter, _character, CHARACTER, d_characters.remove_character),
    Decider(c.RestoreCharacter, _character, CHARACTER, d_characters.restore_character),
    Decider(c.OpenWorld, _world, WORLD, d_scenes.open_world),
    Decider(c.RenameWorld, _world, WORLD, d_scenes.rename_world),
    Decider(c.ArchiveWorld, _world, WORLD, d_scenes.archive_world),
    Decider(c.RestoreWorld, _world, WORLD, d_scenes.restore_world),
    Decider(c.SetStyle, _world, WORLD, d_scenes.set_style),
    Decider(c.SetAuthorNote, _world, WORLD, d_scenes.set_author_note),
    Decider(c.JoinCast, _world, WORLD, d_scenes.join_cast),
    Decider(c.LeaveCast, _world, WORLD, d_scenes.leave_cast),
    Decider(c.DefinePlace, _world, WORLD, d_scenes.define_place),
    Decider(c.OpenScene, _world, WORLD, d_scenes.open_scene),
    Decider(c.DescribeScene, _world, WORLD, d_scenes.describe_scene),
    Decider(c.ChangePresence, _world, WORLD, d_scenes.change_presence),
    Decider(c.CloseScene, _world, WORLD, d_scenes.close_scene),
    Decider(c.SummariseScene, _world, WORLD, d_scenes.summarise_scene),
    Decider(c.RecordDigest, _world, WORLD, d_scenes.record_digest),
    Decider(c.ChangeActivity, _world, WORLD, d_people.change_activity),
    Decider(c.ChangeCondition, _world, WORLD, d_people.change_condition),
    Decider(c.ShiftEdge, _world, WORLD, d_people.shift_edge),
    Decider(c.RewriteEdge, _world, WORLD, d_people.rewrite_edge),
    Decider(c.RewriteGroup, _world, WORLD, d_people.rewrite_group),
    Decider(c.WriteMessage, _world, WORLD, d_messages.write_message, also=message_position),
    Decider(c.RecordTurn, _world, WORLD, d_messages.record_turn),
    Decider(c.BeginSending, _world, WORLD, d_messages.begin_sending),
    Decider(c.BeginStreaming, _world, WORLD, d_messages.begin_streaming),
    Decider(c.SaveReply, _world, WORLD, d_messages.save_reply),
    Decider(c.FinishTurn, _world, WORLD, d_messages.finish_turn),
    Decider(c.FailTurn, _world, WORLD, d_messages.fail_turn),
    Decider(c.LeaveUncertain, _world, WORLD, d_messages.leave_uncertain),
    Decider(c.ChooseVersion, _world, WORLD, d_messages.choose_version),
    Decider(c.EditMessage, _world, WORLD, d_messages.edit_message, also=message_position),
    Decider(c.HideMessage, _world, WORLD, d_messages.hide_message, also=message_position),
    Decider(c.UnhideMessage, _world, WORLD, d_messages.unhide_message, also=message_position),
    Decider(c.CorrectWitnesses, _world, WORLD, d_messages.correct_witnesses, also=message_position),
    Decider(s.PlanEvent, _world, WORLD, d_story.plan_event),
    Decider(s.StartEvent, _world, WORLD, d_story.start_event),
    Decider(s.CompleteEvent, _world, WORLD, d_story.complete_event),
    Decider(s.CancelEvent, _world, WORLD, d_story.cancel_event),
    Decider(s.ExpireEvent, _world, WORLD, d_story.expire_event),
    Decider(s.IntroduceProp, _world, WORLD, d_story.introduce_prop),
    Decider(s.MoveProp, _world, WORLD, d_story.move_prop),
    Decider(s.DropBelonging, _world, WORLD, d_story.drop_belonging),
    Decider(s.OpenPlot, _world, WORLD, d_story.open_plot),
    Decider(s.UpdatePlot, _world, WORLD, d_story.update_plot),
    Decider(s.ClosePlot, _world, WORLD, d_story.close_plot),
    Decider(s.ElideTime, _world, WORLD, d_story.elide_time),
    Decider(s.JumpTime, _world, WORLD, d_story.jump_time),
    Decider(s.RememberOffstage, _world, WORLD, d_story.remember_offstage),
    Decider(f.RecordEffects, _world, WORLD, d_effects.record_effects, also=is_outdated),
    Decider(
        f.RecordFailedExtraction,
        _world,
        WORLD,
        d_effects.record_failed_extraction,
        also=is_outdated,
    ),
    Decider(f.RecordRefusedEffects, _world, WORLD, d_effects.record_refused_effects),
    Decider(s.SetLoreEntry, _lore, LORE, d_story.set_lore_entry),
    Decider(s.RemoveLoreEntry, _lore, LORE, d_story.remove_lore_entry),
    Decider(x.BeginImport, _imports, d_exchange.IMPORTS, d_exchange.begin_import),
    Decider(x.EndImport, _imports, d_exchange.IMPORTS, d_exchange.end_import),
    Decider(x.AddLorebook, _book, d_exchange.BOOK, d_exchange.add_lorebook),
    Decider(x.ImportChat, _world, WORLD, d_exchange.import_chat),
    Decider(x.ImportMessages, _world, WORLD, d_exchange.import_messages, also=existing_messages),
    Decider(x.ReplayFacts, _world, WORLD, d_exchange.replay_facts),
    Decider(x.ReplayLore, _lore, LORE, d_exchange.replay_lore),
)
