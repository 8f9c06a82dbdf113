"""Events about reading a turn for what follows from it.

`EffectsExtracted` and `ExtractionFailed` are where all effects of a turn begin: activities,
feelings, props, memories and the rest are derived from one of them. Retracting it takes them all
back, and the turn is read again.
"""

import msgspec

from everloop.log import Event, event


class ProposedWitnesses(msgspec.Struct, frozen=True):
    """Who probably witnessed a message, as a model reads it. It counts once the player says so."""

    message_id: str
    witnesses: tuple[str, ...]


@event("worlds.effects_extracted")
class EffectsExtracted(Event, frozen=True):
    """Messages were read for what follows from them, by rules or by a model.

    `scene_over` says why the scene seems to be over; `interjects` is who wants to speak, too. Both
    are empty if not so.
    """

    world_id: str
    scene_id: str
    message_id: str
    version_id: str
    messages: tuple[str, ...]
    extractor: str
    significance: int
    scene_over: str
    interjects: str
    proposed_witnesses: tuple[ProposedWitnesses, ...]


@event("worlds.extraction_failed")
class ExtractionFailed(Event, frozen=True):
    """A model could not read these messages; only rules were applied. It can be tried again."""

    world_id: str
    scene_id: str
    message_id: str
    version_id: str
    messages: tuple[str, ...]
    reason: str


@event("worlds.effects_refused")
class EffectsRefused(Event, frozen=True):
    """Some of what a model read from a turn is impossible here, and was left out."""

    world_id: str
    message_id: str
    reasons: tuple[str, ...]
