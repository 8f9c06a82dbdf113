"""Limits of imported files of worlds; section `[exchange]` of the settings file."""

from typing import Annotated

import msgspec
from msgspec import Meta


class ExchangeLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an imported card, lorebook, chat or folder may hold at most."""

    file_bytes_max: Annotated[
        int, Meta(ge=1_000, description="Largest card, lorebook, chat or asset, in bytes.")
    ] = 200_000_000
    total_bytes_max: Annotated[
        int, Meta(ge=1_000, description="Largest unpacked size of a zip file, in bytes.")
    ] = 4_000_000_000
    files_max: Annotated[
        int, Meta(ge=1, description="Maximum number of files in a zip file or folder.")
    ] = 100_000
    packed_max: Annotated[
        int, Meta(ge=10, description="A zip file with a higher compression ratio is refused.")
    ] = 200
    chunk_bytes_max: Annotated[
        int, Meta(ge=1_000, description="Largest chunk of a PNG file, in bytes.")
    ] = 50_000_000
    portrait_bytes_max: Annotated[
        int, Meta(ge=1_000, description="Largest picture that a character is given, in bytes.")
    ] = 20_000_000
    pixels_max: Annotated[
        int, Meta(ge=1, description="Most pixels of a picture: width times height.")
    ] = 100_000_000
    depth_max: Annotated[int, Meta(ge=4, le=500, description="Deepest nesting of JSON.")] = 100
    line_bytes_max: Annotated[
        int,
        Meta(ge=1_000, description="Longest line of a chat, in bytes; longer ones are left out."),
    ] = 900_000
    message_characters_max: Annotated[
        int,
        Meta(ge=1_000, le=100_000, description="Longest message; longer ones are left out."),
    ] = 100_000
    batch: Annotated[
        int, Meta(ge=1, le=1_000, description="Messages of a chat recorded in one append.")
    ] = 100
    kept_days: Annotated[
        int, Meta(ge=0, description="Days to keep an uploaded file whose import was interrupted.")
    ] = 7
