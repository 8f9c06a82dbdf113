"""Commands about reading a turn for what follows from it. `because` are the messages it read.

`read_at` is the newest position when they were read: what was changed since must be read again.
"""

from everloop.log import Command
from everloop.worlds.model.effect_events import ProposedWitnesses


class RecordEffects(Command, frozen=True):
    """Record that messages were read."""

    world_id: str
    scene_id: str
    message_id: str
    version_id: str
    messages: tuple[str, ...]
    extractor: str
    because: tuple[int, ...]
    significance: int = 0
    scene_over: str = ""
    interjects: str = ""
    proposed_witnesses: tuple[ProposedWitnesses, ...] = ()
    read_at: int | None = None


class RecordFailedExtraction(Command, frozen=True):
    """Record that a model could not read messages."""

    world_id: str
    scene_id: str
    message_id: str
    version_id: str
    messages: tuple[str, ...]
    reason: str
    because: tuple[int, ...]
    read_at: int | None = None


class RecordRefusedEffects(Command, frozen=True):
    """Record what of a reading was impossible."""

    world_id: str
    message_id: str
    reasons: tuple[str, ...]
    because: tuple[int, ...]
