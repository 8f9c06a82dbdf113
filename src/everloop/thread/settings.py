"""Settings of conversations; section `[thread]` of the settings file."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from everloop.turns.settings import TurnSettings


class HistoryLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Token budget of summaries in a prompt, for each tier."""

    day: Annotated[
        int, Meta(ge=0, description="Token limit for day summaries (up to a week back).")
    ] = 5_000
    week: Annotated[
        int, Meta(ge=0, description="Token limit for week summaries (up to a month back).")
    ] = 5_000
    month: Annotated[int, Meta(ge=0, description="Token limit for month summaries.")] = 6_000
    year: Annotated[int, Meta(ge=0, description="Token limit for year summaries.")] = 2_500
    decade: Annotated[int, Meta(ge=0, description="Token limit for decade summaries.")] = 1_500


class ContextLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Token budget of a prompt and of each of its sections."""

    hard: Annotated[int, Meta(ge=1_000, description="Hard limit of a prompt, in tokens.")] = 50_000
    soft: Annotated[
        int,
        Meta(
            ge=1_000,
            description="Summaries of months and years are added only up to this many tokens.",
        ),
    ] = 45_000
    dialogue: Annotated[
        int, Meta(ge=500, description="Token limit for the messages of yesterday and today.")
    ] = 16_000
    parts: Annotated[
        int,
        Meta(
            ge=0,
            description="Token limit for summaries of those messages of yesterday and today that"
            " exceed `dialogue`.",
        ),
    ] = 3_000
    recalled: Annotated[
        int, Meta(ge=0, description="Token limit for memories that match the question.")
    ] = 3_000
    instructions: Annotated[
        int, Meta(ge=0, description="Token limit for the person's own instructions.")
    ] = 2_000
    lessons: Annotated[int, Meta(ge=0, description="Token limit for approved lessons.")] = 2_000
    notes: Annotated[
        int, Meta(ge=0, description="Token limit for open topics, decisions and intents.")
    ] = 1_500
    hits: Annotated[int, Meta(ge=0, description="Maximum number of memories in a prompt.")] = 8
    files: Annotated[
        int, Meta(ge=0, description="Token limit for attached text files; half of it for one file.")
    ] = 8_000
    pictures: Annotated[int, Meta(ge=0, description="Maximum number of images in a prompt.")] = 6
    picture: Annotated[int, Meta(ge=1, description="Token cost of an image.")] = 1_600
    past: HistoryLimits = HistoryLimits()


class SummaryLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Token limit of the summary of one time window."""

    part: Annotated[
        int, Meta(ge=50, description="Token limit of the summary of a part of a long day.")
    ] = 250
    day: Annotated[int, Meta(ge=50, description="Token limit of a day's summary.")] = 500
    week: Annotated[int, Meta(ge=50, description="Token limit of a week's summary.")] = 1_000
    month: Annotated[int, Meta(ge=50, description="Token limit of a month's summary.")] = 2_000
    year: Annotated[int, Meta(ge=50, description="Token limit of a year's summary.")] = 1_000
    decade: Annotated[int, Meta(ge=50, description="Token limit of a decade's summary.")] = 1_000
    important: Annotated[
        int, Meta(ge=1, description="Factor by which the limit of an important day is higher.")
    ] = 2


class ImportLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of an import."""

    bytes_max: Annotated[
        int, Meta(ge=1_000, description="Maximum unpacked size of a file in an export, in bytes.")
    ] = 20_000_000_000
    conversation_bytes_max: Annotated[
        int, Meta(ge=1_000, description="Maximum size of a conversation or line of JSON, in bytes.")
    ] = 128_000_000
    depth_max: Annotated[int, Meta(ge=4, le=500, description="Maximum nesting depth of JSON.")] = (
        200
    )
    packed_max: Annotated[
        int,
        Meta(ge=10, description="A file with a higher compression ratio is rejected (zip bomb)."),
    ] = 200
    batch: Annotated[
        int, Meta(ge=1, le=5_000, description="Number of messages recorded in one transaction.")
    ] = 500
    kept_days: Annotated[
        int, Meta(ge=0, description="Days to keep an uploaded file whose import was interrupted.")
    ] = 7


class DocumentLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of reading an attached document (PDF, Office, OpenDocument)."""

    seconds_max: Annotated[
        float, Meta(gt=0, description="Maximum time to read a document, in seconds.")
    ] = 20.0
    memory_bytes_max: Annotated[
        int, Meta(ge=100_000_000, description="Maximum memory to read a document, in bytes.")
    ] = 1_000_000_000
    unpacked_bytes_max: Annotated[
        int, Meta(ge=1_000, description="Maximum unpacked size of a document, in bytes.")
    ] = 300_000_000
    characters_max: Annotated[
        int, Meta(ge=1_000, description="Maximum text taken from a document, in characters.")
    ] = 400_000


class ThreadSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of conversations: prompt budget, summaries, answers and imports."""

    attachment_bytes_max: Annotated[
        int, Meta(ge=1, description="Maximum size of an attachment, in bytes.")
    ] = 25_000_000
    significance: Annotated[
        Literal["model", "rules", "off"],
        Meta(
            description="How the significance of what was said is rated after a turn: by the"
            " classifier model, by rules alone, or not at all."
        ),
    ] = "model"
    context: ContextLimits = ContextLimits()
    detail: SummaryLimits = SummaryLimits()
    answer: TurnSettings = TurnSettings()
    imports: ImportLimits = ImportLimits()
    documents: DocumentLimits = DocumentLimits()
