"""Deciders of reading turns. `asking.known` is whether a reading is of no use any more."""

from everloop.log import DecisionContext, Draft
from everloop.worlds.model import effect_commands as c
from everloop.worlds.model import effect_events as e
from everloop.worlds.model.checks import LINE_MAX, require_world
from everloop.worlds.model.state import World

REASONS_MAX = 50
SIGNIFICANCE_MAX = 3


def record_effects(
    known: World | None, command: c.RecordEffects, asking: DecisionContext
) -> list[Draft]:
    """Record that messages were read; a version is read once, as it is now."""
    require_world(known, command.world_id, asking)
    if asking.known:
        return []
    extracted = e.EffectsExtracted(
        command.world_id,
        command.scene_id,
        command.message_id,
        command.version_id,
        command.messages,
        command.extractor,
        max(0, min(SIGNIFICANCE_MAX, command.significance)),
        command.scene_over[:LINE_MAX],
        command.interjects,
        command.proposed_witnesses,
    )
    return [Draft(extracted, command.because)]


def record_failed_extraction(
    known: World | None, command: c.RecordFailedExtraction, asking: DecisionContext
) -> list[Draft]:
    """Record that a model could not read messages."""
    require_world(known, command.world_id, asking)
    if asking.known:
        return []
    failed = e.ExtractionFailed(
        command.world_id,
        command.scene_id,
        command.message_id,
        command.version_id,
        command.messages,
        command.reason[:LINE_MAX],
    )
    return [Draft(failed, command.because)]


def record_refused_effects(
    known: World | None, command: c.RecordRefusedEffects, asking: DecisionContext
) -> list[Draft]:
    """Record what of a reading was impossible."""
    require_world(known, command.world_id, asking)
    reasons = tuple(each[:LINE_MAX] for each in command.reasons[:REASONS_MAX])
    refused = e.EffectsRefused(command.world_id, command.message_id, reasons)
    return [Draft(refused, command.because)] if reasons else []
