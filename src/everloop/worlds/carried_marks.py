"""What makes a message count on a new branch as it did where the story branched off. Pure."""

from collections.abc import Iterator

from everloop.log import Command
from everloop.worlds.model import commands as c
from everloop.worlds.model.state import World
from everloop.worlds.model.values import LearnedVia
from everloop.worlds.queries import StoryMessage


def carried_marks(
    world_id: str, world: World, now: StoryMessage, was: StoryMessage
) -> Iterator[tuple[str, Command]]:
    """The commands for a message, `now`, that counts otherwise than it `was`, each with a name."""
    mark = (world_id, was.message_id)
    known = {*world.people, *world.former}
    kept = tuple(who for who in was.witnesses if who in known)
    hidden = was.hidden or not kept  # nobody has met here those who heard it
    if hidden and not now.hidden:
        yield "hide", c.HideMessage(*mark)
    elif now.hidden and not hidden:
        yield "unhide", c.UnhideMessage(*mark)
    if kept and (was.witnesses, was.learned_via) != (now.witnesses, now.learned_via):
        via: dict[str, LearnedVia] = {
            who: how for who, how in was.learned_via.items() if who in kept
        }
        yield "witnesses", c.CorrectWitnesses(*mark, kept, via)
    if was.text != now.text and was.chosen == now.chosen:
        yield "edit", c.EditMessage(*mark, was.chosen, was.text, was.passages)
