"""What can be set about memory; section `[memory]` of the settings file."""

from typing import Annotated

import msgspec
from msgspec import Meta


class MemorySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which embedder gives items their meaning, and how long status notes hold."""

    embedder: Annotated[
        str,
        Meta(
            pattern="^(granite|endpoint|hub|none)$",
            description="`granite` (offline, extra `embed`), `endpoint`, `hub`, or `none`.",
        ),
    ] = "granite"
    endpoint: Annotated[
        str, Meta(description="Address of an OpenAI-compatible embedding endpoint, with `/v1`.")
    ] = "http://127.0.0.1:11434/v1"
    endpoint_model: Annotated[str, Meta(description="The embedding model to ask for there.")] = (
        "nomic-embed-text"
    )
    endpoint_key: Annotated[str, Meta(description="The key it wants, if it wants one.")] = ""
    endpoint_dimensions: Annotated[
        int, Meta(ge=8, multiple_of=8, description="How long that model's vectors are.")
    ] = 768
    endpoint_wait_s: Annotated[
        float,
        Meta(
            ge=0.1, description="How long a question waits for it; then words alone are searched."
        ),
    ] = 10
    hub_model: Annotated[
        str, Meta(description="A model of the hub, run by fastembed (extra `hub`).")
    ] = "BAAI/bge-small-en-v1.5"
    hub_dimensions: Annotated[
        int, Meta(ge=8, multiple_of=8, description="How long that model's vectors are.")
    ] = 384
    embed_wait_s: Annotated[
        float,
        Meta(ge=0, description="How long a recall waits for vectors to be made; then words do."),
    ] = 5
    status_days: Annotated[
        int,
        Meta(ge=1, description="How long a note holds that begins with HANDOFF, RESUME, TO SHIP."),
    ] = 7
    pins_max: Annotated[
        int,
        Meta(ge=1, description="How many pins an audience keeps; older automatic ones give way."),
    ] = 8
    quiet_days: Annotated[
        int, Meta(ge=1, description="What no longer holds steps back after so many quiet days.")
    ] = 30
