"""What can be set about conversations; section `[thread]` of the settings file."""

from typing import Annotated

import msgspec
from msgspec import Meta


class PastLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of a prompt may tell of the past, tier by tier, in tokens."""

    day: Annotated[int, Meta(ge=0, description="Most tokens for days up to a week back.")] = 5_000
    week: Annotated[int, Meta(ge=0, description="Most tokens for weeks up to a month back.")] = (
        5_000
    )
    month: Annotated[int, Meta(ge=0, description="Most tokens for months before that.")] = 6_000
    year: Annotated[int, Meta(ge=0, description="Most tokens for years before that.")] = 2_500
    decade: Annotated[int, Meta(ge=0, description="Most tokens for decades before that.")] = 1_500


class ContextLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long a prompt may be, and how much of it may go where, in tokens."""

    hard: Annotated[int, Meta(ge=1_000, description="The longest prompt, in tokens.")] = 50_000
    soft: Annotated[
        int, Meta(ge=1_000, description="Up to here, older months and years are told too.")
    ] = 45_000
    dialogue: Annotated[
        int, Meta(ge=500, description="Most tokens for what was said yesterday and today.")
    ] = 16_000
    recalled: Annotated[
        int, Meta(ge=0, description="Most tokens for what memory has on the question.")
    ] = 3_000
    lessons: Annotated[int, Meta(ge=0, description="Most tokens for lessons that stand.")] = 2_000
    notes: Annotated[
        int, Meta(ge=0, description="Most tokens for open topics, decisions and intents.")
    ] = 1_500
    hits: Annotated[int, Meta(ge=0, description="Most memories that a prompt is given.")] = 8
    files: Annotated[
        int, Meta(ge=0, description="Most tokens for the text files beside messages; half for one.")
    ] = 8_000
    pictures: Annotated[int, Meta(ge=0, description="Most pictures in a prompt.")] = 6
    picture: Annotated[int, Meta(ge=1, description="What a picture takes, in tokens.")] = 1_600
    past: PastLimits = PastLimits()


class Detail(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many tokens the summary of one window may take."""

    day: Annotated[int, Meta(ge=50, description="Of a day.")] = 500
    week: Annotated[int, Meta(ge=50, description="Of a week.")] = 1_000
    month: Annotated[int, Meta(ge=50, description="Of a month.")] = 2_000
    year: Annotated[int, Meta(ge=50, description="Of a year.")] = 1_000
    decade: Annotated[int, Meta(ge=50, description="Of a decade.")] = 1_000
    important: Annotated[
        int, Meta(ge=1, description="An important day may take so many times more.")
    ] = 2


class Answering(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of an answer."""

    save_every_s: Annotated[
        float, Meta(gt=0, description="A long answer is saved as it comes, so often.")
    ] = 5.0
    tool_rounds_max: Annotated[
        int, Meta(ge=0, description="How often a model may use tools before it must answer.")
    ] = 8
    tokens_max: Annotated[int, Meta(ge=1, description="The longest answer, in tokens.")] = 8_192
    characters_max: Annotated[
        int,
        Meta(ge=1, le=150_000, description="An answer that grows beyond so many is cut off."),
    ] = 150_000
    silence_s: Annotated[
        float, Meta(gt=0, description="A model that is silent for so long has failed.")
    ] = 120.0


class Importing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much an import may hold."""

    bytes_max: Annotated[
        int, Meta(ge=1_000, description="The largest file inside an export, unpacked, in bytes.")
    ] = 20_000_000_000
    conversation_bytes_max: Annotated[
        int, Meta(ge=1_000, description="The longest conversation or line, in bytes of JSON.")
    ] = 128_000_000
    depth_max: Annotated[int, Meta(ge=4, le=500, description="The deepest nesting of JSON.")] = 200
    packed_max: Annotated[
        int, Meta(ge=10, description="A file that unpacks to so many times its size is refused.")
    ] = 200
    batch: Annotated[
        int, Meta(ge=1, le=5_000, description="Messages that are recorded together.")
    ] = 500
    kept_days: Annotated[
        int, Meta(ge=0, description="How long a file is kept whose import was broken off.")
    ] = 7


class ThreadSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much a prompt may hold, how much of the past is kept, and how answers are given."""

    attachment_bytes_max: Annotated[
        int, Meta(ge=1, description="The largest file that can stand beside a message.")
    ] = 25_000_000
    context: ContextLimits = ContextLimits()
    detail: Detail = Detail()
    answer: Answering = Answering()
    imports: Importing = Importing()
