"""What was read from the turns of a scene: by what, what it missed, and what it proposes."""

import msgspec

from everloop.log import Reader
from everloop.worlds.model import effect_events as f
from everloop.worlds.queries import scene_entries, timeline

READ = ("effects_extracted", "extraction_failed")
REFUSED = ("effects_refused",)


class TurnRead(msgspec.Struct, frozen=True):
    """Messages that were read together. The effects of `message_id` can be made again.

    `failure` says why a model could not read them; `refused` is what of its reading is impossible.
    `scene_over` is why the scene seems to be over; `could_hear` is who probably heard the message.
    """

    message_id: str
    messages: tuple[str, ...]
    position: int
    read_by: str = ""
    failure: str = ""
    refused: tuple[str, ...] = ()
    scene_over: str = ""
    could_hear: tuple[str, ...] = ()


def turns_read(reader: Reader, world_id: str, scene_id: str) -> list[TurnRead]:
    """How the turns of a scene were read, in order."""
    found: dict[str, TurnRead] = {}
    for one in scene_entries(reader, world_id, scene_id, READ):
        match one.event:
            case f.ExtractionFailed() as failed:
                read = TurnRead(
                    failed.message_id, failed.messages, one.position, failure=failed.reason
                )
            case f.EffectsExtracted() as extracted:
                read = _extracted(extracted, one.position)
            case _:
                continue
        found[read.message_id] = read
    if not found:
        return []
    first = min(one.position for one in found.values())
    for one in timeline(reader, world_id, REFUSED, after=first):
        refused = one.event
        if isinstance(refused, f.EffectsRefused) and refused.message_id in found:
            before = found[refused.message_id]
            found[refused.message_id] = msgspec.structs.replace(before, refused=refused.reasons)
    return list(found.values())


def _extracted(extracted: f.EffectsExtracted, position: int) -> TurnRead:
    proposed = {one.message_id: one.witnesses for one in extracted.proposed_witnesses}
    return TurnRead(
        extracted.message_id,
        extracted.messages,
        position,
        read_by=extracted.extractor,
        scene_over=extracted.scene_over,
        could_hear=proposed.get(extracted.message_id, ()),
    )
