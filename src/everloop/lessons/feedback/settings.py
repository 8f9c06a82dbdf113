"""What can be set about feedback heard in a user's words; section `[sentiment]`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class SentimentSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How sure one has to be before words count as feedback."""

    positive_min: Annotated[
        float, Meta(ge=0.0, description="How sure the classifier must be of praise, 0 to 1.")
    ] = 0.75
    negative_min: Annotated[
        float, Meta(ge=0.0, description="How sure the classifier must be of blame, 0 to 1.")
    ] = 0.85
    judge_min: Annotated[
        float, Meta(ge=0.0, description="How sure a judge must be which lesson is meant, 0 to 1.")
    ] = 0.8
    cooldown_s: Annotated[
        float, Meta(ge=0.0, description="Seconds between two signals of a session on one lesson.")
    ] = 60.0
    interrupt_within_s: Annotated[
        float,
        Meta(ge=0.0, description="An interrupt this soon after a turn speaks against its lessons."),
    ] = 30.0
    interrupt_confidence: Annotated[
        float, Meta(ge=0.0, description="How sure an interrupt is taken to be, 0 to 1.")
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
        int, Meta(ge=1, description="Newest turns of a transcript in which feedback is heard.")
    ] = 6
    tail_bytes: Annotated[
        int, Meta(ge=1_024, description="Bytes at a transcript's end that are looked at for that.")
    ] = 1_048_576
    short_words: Annotated[
        int, Meta(ge=0, description="In turns of up to so many words, one word may be feedback.")
    ] = 8
    host_versions: Annotated[
        str, Meta(description="Major versions of hosts whose turns are understood, with commas.")
    ] = "1,2"
