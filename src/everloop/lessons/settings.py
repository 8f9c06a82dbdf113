"""Settings of lessons and their gate; section `[lessons]` of the settings file."""

from typing import Annotated

import msgspec
from msgspec import Meta


class GateRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The thresholds of the gate. No setting turns a check off."""

    age_hours_min: Annotated[
        float, Meta(ge=0, description="Minimum age of a lesson's text, in hours, for a promotion.")
    ] = 24.0
    uses_min: Annotated[
        int,
        Meta(ge=1, description="Minimum number of uses; being shown in a manifest does not count."),
    ] = 3
    supports_min: Annotated[
        int, Meta(ge=1, description="Minimum number of supporting signals from outside the agent.")
    ] = 1
    origins_min: Annotated[
        int, Meta(ge=1, description="Minimum number of different sessions that used it.")
    ] = 2
    relayed_per_day_max: Annotated[
        int,
        Meta(
            ge=0,
            description="Most lessons a day that praise relayed by one host promotes without a look"
            " by the user.",
        ),
    ] = 1
    citations_min: Annotated[
        int, Meta(ge=1, description="Minimum number of cited memories that pass every check.")
    ] = 1

    def is_looser(self, other: "GateRules", name: str) -> bool:
        """Whether the threshold of this name lets more pass here than in the other rules."""
        here, there = getattr(self, name), getattr(other, name)
        return bool(here > there if name.endswith("_max") else here < there)


RULE_NAMES = tuple(field.name for field in msgspec.structs.fields(GateRules))


def plain_rules(rules: GateRules) -> GateRules:
    """The thresholds alone, without what else a section of the settings holds."""
    return GateRules(**{name: getattr(rules, name) for name in RULE_NAMES})


def strictest_rules(rules: GateRules, others: GateRules | None) -> GateRules:
    """For each threshold the stricter one of two; `others` are those of the log, if it has any."""
    if others is None:
        return rules
    stricter = {
        name: getattr(others if rules.is_looser(others, name) else rules, name)
        for name in RULE_NAMES
    }
    return GateRules(**stricter)


class LessonSettings(GateRules, frozen=True, forbid_unknown_fields=True):
    """The gate, stale lessons without feedback, and narratives by a model."""

    stale_days: Annotated[
        float,
        Meta(ge=0, description="Days after which an active lesson with little feedback is stale."),
    ] = 7.0
    stale_signals_min: Annotated[
        int, Meta(ge=1, description="A lesson with fewer signals than this can be stale.")
    ] = 1
    stale_asked_max: Annotated[
        int, Meta(ge=1, description="Most stale lessons that the user is asked about at a time.")
    ] = 1
    narrative_tries: Annotated[
        int, Meta(ge=1, description="Attempts to get a usable narrative from a model.")
    ] = 3
    narrative_tokens_max: Annotated[
        int, Meta(ge=64, description="Longest narrative that a model may write, in tokens.")
    ] = 1_024
