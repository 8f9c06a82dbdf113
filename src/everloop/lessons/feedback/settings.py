"""Settings of feedback detection in messages; section `[sentiment]` of the settings file."""

from typing import Annotated

import msgspec
from msgspec import Meta


class FeedbackSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Thresholds and limits of feedback detection in messages."""

    positive_min: Annotated[
        float, Meta(ge=0.0, description="Minimum confidence of the classifier for praise, 0 to 1.")
    ] = 0.75
    negative_min: Annotated[
        float, Meta(ge=0.0, description="Minimum confidence of the classifier for blame, 0 to 1.")
    ] = 0.85
    judge_min: Annotated[
        float,
        Meta(ge=0.0, description="Minimum confidence of the judge about which lesson is meant."),
    ] = 0.8
    cooldown_s: Annotated[
        float,
        Meta(
            ge=0.0,
            description="Seconds after a signal of a session in which praise of the same lesson"
            " does not count; blame always counts.",
        ),
    ] = 60.0
    interrupt_within_s: Annotated[
        float,
        Meta(
            ge=0.0, description="An interrupt within this time of a turn is blame of its lessons."
        ),
    ] = 30.0
    interrupt_confidence: Annotated[
        float, Meta(ge=0.0, description="Confidence that an interrupt is given, 0 to 1.")
    ] = 0.9
    turns_max: Annotated[
        int, Meta(ge=1, description="Recent turns that the classifier is shown.")
    ] = 6
    items_max: Annotated[int, Meta(ge=1, description="Lessons that the classifier is shown.")] = 20
    candidates_max: Annotated[
        int, Meta(ge=2, description="Lessons that a judge may choose among.")
    ] = 5
    turn_characters: Annotated[
        int, Meta(ge=80, description="Characters of each turn that the classifier is shown.")
    ] = 2_000
    newest_turns: Annotated[
        int, Meta(ge=1, description="Newest turns of a transcript that are checked for feedback.")
    ] = 6
    tail_bytes: Annotated[
        int, Meta(ge=1_024, description="Bytes at a transcript's end that are read for that.")
    ] = 1_048_576
    short_words: Annotated[
        int,
        Meta(ge=0, description="Longest turn, in words, in which a single word may be feedback."),
    ] = 8
    host_versions: Annotated[
        str, Meta(description="Supported major versions of hosts, separated by commas.")
    ] = "1,2"
