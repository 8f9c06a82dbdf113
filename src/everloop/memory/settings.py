"""Settings of memory: section `[memory]` of the settings file."""

from typing import Annotated

import msgspec
from msgspec import Meta


class MemorySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The embedder for semantic search, and the limits of status notes, pins and expiry."""

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
    endpoint_model: Annotated[str, Meta(description="The embedding model of that endpoint.")] = (
        "nomic-embed-text"
    )
    endpoint_key: Annotated[str, Meta(description="Its API key, if it needs one.")] = ""
    endpoint_dimensions: Annotated[
        int, Meta(ge=8, multiple_of=8, description="Dimensions of that model's vectors.")
    ] = 768
    endpoint_wait_s: Annotated[
        float,
        Meta(
            ge=0.1, description="How long a search waits for it; then only keywords are searched."
        ),
    ] = 10
    hub_model: Annotated[
        str, Meta(description="A Hugging Face model, run by fastembed (extra `hub`).")
    ] = "BAAI/bge-small-en-v1.5"
    hub_dimensions: Annotated[
        int, Meta(ge=8, multiple_of=8, description="Dimensions of that model's vectors.")
    ] = 384
    fit_min: Annotated[
        float,
        Meta(
            ge=0,
            le=1.5,
            description="How well a search hit must fit; below, nothing is found. 0: no floor.",
        ),
    ] = 0.4
    embed_wait_s: Annotated[
        float,
        Meta(ge=0, description="How long a search waits for missing vectors to be computed."),
    ] = 5
    status_days: Annotated[
        int,
        Meta(ge=1, description="Days until a note expires that begins HANDOFF, RESUME or TO SHIP."),
    ] = 7
    pins_max: Annotated[
        int,
        Meta(ge=1, description="Pins per audience; beyond, the oldest automatic pin is removed."),
    ] = 8
    quiet_days: Annotated[
        int, Meta(ge=1, description="Days after which an expired, unmentioned item is retired.")
    ] = 30
