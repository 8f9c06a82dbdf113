"""Limits of a turn; section `[thread.answer]` of the settings file."""

from typing import Annotated

import msgspec
from msgspec import Meta


class AnswerOptions(msgspec.Struct, frozen=True):
    """How a person wants one answer. Empty, None and 0 mean: as configured."""

    model: str = ""
    temperature: float | None = None
    tokens_max: int = 0


AS_CONFIGURED = AnswerOptions()


class TurnSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of an answer."""

    save_every_s: Annotated[
        float, Meta(gt=0, description="How often a long answer is saved while it streams.")
    ] = 5.0
    tool_rounds_max: Annotated[
        int, Meta(ge=0, description="How often a model may use tools before it must answer.")
    ] = 8
    tokens_max: Annotated[int, Meta(ge=1, description="The longest answer, in tokens.")] = 8_192
    characters_max: Annotated[
        int,
        Meta(ge=1, le=150_000, description="A longer answer is cut off."),
    ] = 150_000
    silence_s: Annotated[
        float, Meta(gt=0, description="A model that sends nothing for so long has failed.")
    ] = 120.0
