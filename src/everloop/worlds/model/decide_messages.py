"""Deciders of messages and of the turns in which characters reply."""

from everloop.errors import Conflict, Invalid, NotFound
from everloop.log import DecisionContext, Draft, Event
from everloop.worlds.model import commands as c
from everloop.worlds.model import events as e
from everloop.worlds.model.checks import (
    TEXT_MAX,
    display_name,
    require_people,
    require_present,
    require_scene,
    require_witnesses,
    require_world,
)
from everloop.worlds.model.state import SENDING, STREAMING, WAITING, OpenTurn, Scene, World
from everloop.worlds.model.values import NARRATOR, PLAYER, Passage

VERSIONS_MAX = 50


def write_message(
    known: World | None, command: c.WriteMessage, asking: DecisionContext
) -> list[Draft]:
    """Write a message in the open scene. Everyone present witnesses it, unless some are named."""
    world = require_world(known, command.world_id, asking)
    scene = require_scene(world)
    if world.turn is not None:
        raise Conflict("someone is still speaking", hint="Wait for the reply, or stop it.")
    if asking.known:
        raise Conflict(f"message {command.message_id!r} exists", hint="Use a new id.")
    if command.speaker != NARRATOR:
        require_present(world, command.speaker)
    text = _check_text(command.text)
    speaker = () if command.speaker == NARRATOR else (command.speaker,)
    witnesses = require_people(world, (*command.witnesses, *speaker))
    written = e.MessageWritten(
        command.world_id,
        scene.scene_id,
        command.message_id,
        command.speaker,
        text,
        command.passages or (Passage("speech", text),),
        witnesses if command.witnesses else scene.present,
        command.addressee,
    )
    return [Draft(written, command.because or (scene.position,))]


def record_turn(known: World | None, command: c.RecordTurn, asking: DecisionContext) -> list[Draft]:
    """Request a reply, or another version of the newest one. One turn runs at a time."""
    world = require_world(known, command.world_id, asking)
    turn, scene = world.turn, require_scene(world)
    if turn is not None:
        if turn.turn_id == command.turn_id:
            return []
        name = display_name(world, turn.speaker)
        raise Conflict(f"{name} is still speaking", hint="Wait for the reply, or stop it.")
    if command.speaker not in (NARRATOR, PLAYER):
        require_present(world, command.speaker)
    _check_versions(world, command)
    recorded = e.TurnRecorded(
        command.world_id,
        command.turn_id,
        command.message_id,
        command.speaker,
        command.direction.strip(),
    )
    return [Draft(recorded, command.because or (scene.position,))]


def _check_versions(world: World, command: c.RecordTurn) -> None:
    newest = world.newest
    if newest is None or newest.message_id != command.message_id:
        return
    if not newest.versions:
        raise Conflict("that message was written, not rendered", hint="Use a new message id.")
    if len(newest.versions) >= VERSIONS_MAX:
        raise Conflict(f"a message has at most {VERSIONS_MAX} versions", hint="Choose one of them.")
    if newest.speaker != command.speaker:
        name = display_name(world, newest.speaker)
        raise Conflict(f"{name} said that", hint="A version of it has the same speaker.")


def begin_sending(
    known: World | None, command: c.BeginSending, asking: DecisionContext
) -> list[Draft]:
    """Claim the waiting turn; a no-op if it is claimed or over."""
    turn = require_world(known, command.world_id, asking).turn
    if turn is None or turn.turn_id != command.turn_id or turn.phase != WAITING:
        return []
    sending = e.TurnSending(
        command.world_id,
        command.turn_id,
        command.version_id,
        command.model,
        command.context_id,
        command.sender,
    )
    return [Draft(sending, (turn.position, *command.because))]


def begin_streaming(
    known: World | None, command: c.BeginStreaming, asking: DecisionContext
) -> list[Draft]:
    """Record that the first text arrived."""
    turn = _running(require_world(known, command.world_id, asking), command.turn_id)
    if turn is None or turn.phase != SENDING:
        return []
    return [Draft(e.TurnStreaming(command.world_id, command.turn_id), (turn.position,))]


def save_reply(known: World | None, command: c.SaveReply, asking: DecisionContext) -> list[Draft]:
    """Save more text of a reply."""
    turn = _running(require_world(known, command.world_id, asking), command.turn_id)
    if turn is None or not command.text:
        return []
    return [Draft(e.ReplySaved(command.world_id, command.turn_id, command.text), (turn.position,))]


def _witnesses_of_reply(world: World, scene: Scene, speaker: str) -> tuple[str, ...]:
    """Who hears a reply: everyone present, or those who heard the line, if only some did.

    A whispered line is answered in a whisper; who speaks without having heard it speaks to all.
    """
    heard = world.newest.witnesses if world.newest else ()
    if speaker not in heard:
        return scene.present
    return tuple(who for who in scene.present if who in heard)


def finish_turn(known: World | None, command: c.FinishTurn, asking: DecisionContext) -> list[Draft]:
    """End a turn with its text: a version of the message, which is chosen at once.

    The version that was chosen before must have been retracted by then.
    """
    world = require_world(known, command.world_id, asking)
    turn = _running(world, command.turn_id)
    if turn is None:
        return []
    if not command.text.strip():
        failed = e.TurnFailed(
            command.world_id, command.turn_id, "the reply was empty", "Try again."
        )
        return _ended(world, turn, failed)
    scene = require_scene(world)
    version = e.VersionRendered(
        command.world_id,
        scene.scene_id,
        turn.message_id,
        turn.version_id,
        turn.speaker,
        command.text[:TEXT_MAX],
        command.passages or (Passage("speech", command.text[:TEXT_MAX]),),
        _witnesses_of_reply(world, scene, turn.speaker),
        command.model or turn.model,
        command.finish,
        turn.turn_id,
    )
    choice = e.VersionChosen(command.world_id, turn.message_id, turn.version_id)
    return [Draft(version, (turn.position,)), Draft(choice, beside=(0,))]


def fail_turn(known: World | None, command: c.FailTurn, asking: DecisionContext) -> list[Draft]:
    """End a turn that brought no text."""
    world = require_world(known, command.world_id, asking)
    turn = _open(world, command.turn_id)
    failed = e.TurnFailed(command.world_id, command.turn_id, command.reason, command.hint)
    return _ended(world, turn, failed) if turn else []


def leave_uncertain(
    known: World | None, command: c.LeaveUncertain, asking: DecisionContext
) -> list[Draft]:
    """End a turn whose process is gone. What had arrived of the reply is kept, marked as cut."""
    world = require_world(known, command.world_id, asking)
    turn = _running(world, command.turn_id)
    if turn is None:
        return []
    if turn.text.strip():
        finished = c.FinishTurn(command.world_id, turn.turn_id, turn.text, turn.model, "uncertain")
        return finish_turn(known, finished, asking)
    left = e.TurnLeftUncertain(command.world_id, command.turn_id)
    return _ended(world, turn, left)


def _ended(world: World, turn: OpenTurn, ended: e.TurnFailed | e.TurnLeftUncertain) -> list[Draft]:
    """The end of a turn without text. If it was for another version, the last one counts again."""
    drafts = [Draft(ended, (turn.position,))]
    newest = world.newest
    if newest and newest.message_id == turn.message_id and newest.versions and not newest.chosen:
        version_id, position = list(newest.versions.items())[-1]
        choice = e.VersionChosen(ended.world_id, turn.message_id, version_id)
        drafts.append(Draft(choice, (position,)))
    return drafts


def choose_version(
    known: World | None, command: c.ChooseVersion, asking: DecisionContext
) -> list[Draft]:
    """Choose a version of the newest message, once the choice before it was retracted."""
    world = require_world(known, command.world_id, asking)
    newest = world.newest
    if newest is None or newest.message_id != command.message_id:
        raise Conflict(
            "only the newest message can get another version",
            hint="Go back to that message, or branch from it.",
        )
    if command.version_id not in newest.versions:
        raise NotFound(f"no version {command.version_id!r}", hint="Choose one that exists.")
    if newest.chosen == command.version_id:
        return []
    if newest.chosen:
        raise Conflict("another version is chosen", hint="Retract that choice first.")
    choice = e.VersionChosen(command.world_id, command.message_id, command.version_id)
    return [Draft(choice, (newest.versions[command.version_id],))]


def edit_message(
    known: World | None, command: c.EditMessage, asking: DecisionContext
) -> list[Draft]:
    """Give a message another text. `asking.known` is the position of the message or version."""
    world = require_world(known, command.world_id, asking)
    text = _check_text(command.text)
    edited = e.MessageEdited(
        command.world_id,
        command.message_id,
        command.version_id,
        text,
        command.passages or (Passage("speech", text),),
    )
    return _about_message(world, edited, command.message_id, asking)


def hide_message(
    known: World | None, command: c.HideMessage, asking: DecisionContext
) -> list[Draft]:
    """Hide a message from models."""
    world = require_world(known, command.world_id, asking)
    hidden = e.MessageHidden(command.world_id, command.message_id)
    return _about_message(world, hidden, command.message_id, asking)


def unhide_message(
    known: World | None, command: c.UnhideMessage, asking: DecisionContext
) -> list[Draft]:
    """Let a hidden message count again."""
    world = require_world(known, command.world_id, asking)
    shown = e.MessageUnhidden(command.world_id, command.message_id)
    return _about_message(world, shown, command.message_id, asking)


def correct_witnesses(
    known: World | None, command: c.CorrectWitnesses, asking: DecisionContext
) -> list[Draft]:
    """Say who witnessed a message. Whoever learned of it otherwise counts as a witness, too."""
    world = require_world(known, command.world_id, asking)
    witnesses = require_witnesses(world, command.witnesses)
    if not witnesses:
        raise Invalid("nobody would have witnessed it", hint="Hide the message instead.")
    unknown = set(command.learned_via) - set(witnesses)
    if unknown:
        raise Invalid(f"{sorted(unknown)} are no witnesses", hint="Name them among the witnesses.")
    corrected = e.WitnessesCorrected(
        command.world_id, command.message_id, witnesses, command.learned_via
    )
    return _about_message(world, corrected, command.message_id, asking)


def _about_message(
    world: World, happened: Event, message_id: str, asking: DecisionContext
) -> list[Draft]:
    if not asking.known:
        raise NotFound(f"no message {message_id!r}", hint="It may lie on another branch.")
    return [Draft(happened, (world.position, asking.known))]


def _running(world: World, turn_id: str) -> OpenTurn | None:
    turn = _open(world, turn_id)
    return turn if turn is not None and turn.phase in (SENDING, STREAMING) else None


def _open(world: World, turn_id: str) -> OpenTurn | None:
    turn = world.turn
    return turn if turn is not None and turn.turn_id == turn_id else None


def _check_text(text: str) -> str:
    if not text.strip():
        raise Invalid("the message is empty", hint="Write something.")
    if len(text) > TEXT_MAX:
        raise Invalid(f"a message has at most {TEXT_MAX:,} characters", hint="Shorten it.")
    return text.strip()
