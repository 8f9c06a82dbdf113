"""Who speaks next: whoever is addressed, or spoke last, or is the only one there. Pure."""

from collections.abc import Sequence

from everloop.errors import Conflict
from everloop.worlds.message_parsing import find_addressee, mentions, told_text
from everloop.worlds.model.checks import require_present, require_scene
from everloop.worlds.model.state import World
from everloop.worlds.model.values import NARRATOR, PLAYER
from everloop.worlds.queries import StoryMessage


def present_characters(world: World) -> dict[str, str]:
    """The characters in the open scene, with their names."""
    present = require_scene(world).present
    return {who: name for who, name in world.cast.items() if who in present}


def next_speaker(world: World, messages: Sequence[StoryMessage], wanted: str = "") -> str:
    """Who replies now: the one who is wanted, addressed, or whose turn it is.

    Raises:
        Conflict: the wanted one is not there, or nobody is.
    """
    if wanted in (NARRATOR, PLAYER):
        return wanted
    if wanted:
        require_present(world, wanted)
        return wanted
    there = present_characters(world)
    if not there:
        raise Conflict("nobody is here to reply", hint="Let someone enter, or ask the narrator.")
    newest = messages[-1] if messages else None
    if newest is None:
        return next(iter(there))
    if newest.speaker in (PLAYER, NARRATOR):
        return _addressed(there, newest, messages)
    return next((who for who in there if who != newest.speaker), newest.speaker)


def _addressed(
    there: dict[str, str], newest: StoryMessage, messages: Sequence[StoryMessage]
) -> str:
    """The one who is named or was spoken to, else who spoke last, else the first of the cast."""
    hears = {who: name for who, name in there.items() if who in newest.witnesses} or there
    if newest.addressee in hears:
        return newest.addressee
    spoke = (one.speaker for one in reversed(messages) if one.speaker in hears)
    default = next(spoke, next(iter(hears)))
    return find_addressee(told_text(newest.passages), hears, default)


def interjecting(world: World, reply: StoryMessage) -> str:
    """The silent character whom a reply names, if that is a character's and names just one."""
    if world.scene is None or reply.speaker not in world.cast:
        return ""
    silent = [
        who
        for who, name in present_characters(world).items()
        if who != reply.speaker
        and who in reply.witnesses
        and mentions(told_text(reply.passages), name)
    ]
    return silent[0] if len(silent) == 1 else ""
