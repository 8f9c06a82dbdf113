"""What can be set about lessons; section `[lessons]` of the settings file."""

from typing import Annotated

import msgspec
from msgspec import Meta


class GateRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The thresholds of the gate. No setting takes a check away."""

    age_hours_min: Annotated[
        float, Meta(ge=0, description="How old a lesson's words must be, in hours, to be promoted.")
    ] = 24.0
    uses_min: Annotated[
        int, Meta(ge=1, description="How often it must have been used; being shown is no use.")
    ] = 3
    supports_min: Annotated[
        int, Meta(ge=1, description="How many signals from outside must support it.")
    ] = 1
    origins_min: Annotated[
        int, Meta(ge=1, description="From how many different sessions the uses must come.")
    ] = 2
    citations_min: Annotated[
        int, Meta(ge=1, description="How many memories it must stand on that pass every check.")
    ] = 1


class LessonSettings(GateRules, frozen=True, forbid_unknown_fields=True):
    """The gate, and what is asked about lessons that nobody speaks of."""

    stale_days: Annotated[
        float, Meta(ge=0, description="After how many days on trial a lesson is asked about.")
    ] = 7.0
    stale_signals_min: Annotated[
        int, Meta(ge=1, description="A lesson with fewer signals than this is asked about.")
    ] = 1
    stale_asked_max: Annotated[
        int, Meta(ge=1, description="How many lessons are asked about at a time.")
    ] = 1
    narrative_tries: Annotated[
        int, Meta(ge=1, description="How often a model is asked for a usable narrative.")
    ] = 3
    narrative_tokens_max: Annotated[
        int, Meta(ge=64, description="Longest narrative that a model may write, in tokens.")
    ] = 1_024
