"""Settings of manifests; section `[manifest]` of the settings file."""

from typing import Annotated

import msgspec
from msgspec import Meta


class ManifestSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much a manifest shows; section `[manifest]` of the settings file."""

    lessons: Annotated[int, Meta(ge=0, description="Most lessons that a manifest shows.")] = 5
    preview_characters: Annotated[
        int, Meta(ge=0, description="Characters of each lesson's or memory's text that it shows.")
    ] = 200
    memories: Annotated[
        int, Meta(ge=1, description="Most memories that it shows, if it is given a query.")
    ] = 5
    tokens: Annotated[
        int, Meta(ge=1, description="Tokens up to which personas and teams are shown.")
    ] = 3_000
    tokens_max: Annotated[int, Meta(ge=1, description="Tokens that a manifest has at most.")] = (
        4_000
    )
