"""Settings of capture; section `[capture]` of the settings file."""

from typing import Annotated

import msgspec
from msgspec import Meta


class CaptureSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Polling, read sizes, and the longest message that may be a correction."""

    poll_s: Annotated[
        float, Meta(gt=0, description="Seconds between two checks of the watched files.")
    ] = 2.0
    piece_bytes: Annotated[
        int, Meta(ge=1_024, description="Bytes read from a growing file at a time.")
    ] = 4_194_304
    line_bytes_max: Annotated[
        int, Meta(ge=1_024, description="A longer line of a growing file is skipped and reported.")
    ] = 16_777_216
    checkpoint_bytes: Annotated[
        int,
        Meta(
            ge=0,
            description="Bytes read between two recorded offsets; at most so much is read again.",
        ),
    ] = 65_536
    message_characters_max: Annotated[
        int, Meta(ge=40, description="A longer message is a task and not a correction.")
    ] = 800
    entries_max: Annotated[
        int, Meta(ge=1, description="Most entries taken from one Markdown file.")
    ] = 500
