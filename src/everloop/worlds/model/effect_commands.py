"""Commands about reading a turn for what follows from it. `because` are the messages it read."""

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


class RecordFailedExtraction(Command, frozen=True):
    """Record that a model could not read messages."""

    world_id: str
    scene_id: str
    message_id: str
    version_id: str
    messages: tuple[str, ...]
    reason: str
    because: tuple[int, ...]


class RecordRefusedEffects(Command, frozen=True):
    """Record what of a reading was impossible."""

    world_id: str
    message_id: str
    reasons: tuple[str, ...]
    because: tuple[int, ...]
