"""Settings of worlds; section `[worlds]` of the settings file."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class WorldSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of prompts, what is made of a turn, and how time goes by."""

    context_soft: Annotated[
        int, Meta(ge=500, description="Preferred length of a world's prompt, in tokens.")
    ] = 6_000
    context_hard: Annotated[
        int, Meta(ge=500, description="Hard limit of a world's prompt, in tokens.")
    ] = 8_000
    lore_tokens: Annotated[
        int, Meta(ge=0, description="Token limit for lore entries in a prompt.")
    ] = 800
    dialogue_messages: Annotated[
        int,
        Meta(
            ge=10,
            description="Messages of the open scene that a prompt has at most. What it tells of"
            " earlier scenes takes the place of up to half of them: ten for each 320 tokens.",
        ),
    ] = 60
    memories: Annotated[int, Meta(ge=0, description="Memories that a prompt recalls at most.")] = 6
    memory_tokens: Annotated[
        int,
        Meta(
            ge=10,
            description="Longest passage that a prompt has of one memory, in tokens. Of a longer"
            " memory it has the sentences that fit the newest messages best.",
        ),
    ] = 50
    summaries: Annotated[
        int, Meta(ge=0, description="Earlier scenes that a prompt tells of at most.")
    ] = 4
    offstage: Annotated[
        int, Meta(ge=0, description="Off-stage memories that a prompt has at most.")
    ] = 2
    memory_across_worlds: Annotated[
        bool,
        Meta(description="Whether a character recalls what it witnessed in other worlds."),
    ] = True
    extraction: Annotated[
        Literal["model", "rules"],
        Meta(
            description="What reads a turn for its effects. `rules`: no model is asked; change"
            " activities, feelings, events and props by hand."
        ),
    ] = "model"
    extraction_tokens_max: Annotated[
        int, Meta(ge=200, description="Longest answer of the model that reads a turn, in tokens.")
    ] = 900
    extraction_timeout_s: Annotated[
        float, Meta(gt=0, description="A model that reads a turn and takes longer has failed.")
    ] = 30.0
    extraction_tries: Annotated[
        int, Meta(ge=1, description="How often a model is asked to read a turn or sum up a scene.")
    ] = 2
    interjections: Annotated[
        int,
        Meta(ge=0, description="Replies that a silent character may add to a turn unasked."),
    ] = 1
    close_scenes: Annotated[
        Literal["model", "ask", "never"],
        Meta(
            description="What happens when a model finds that a scene is over. `model`: it is"
            " closed. `ask`: the world shows a proposal. `never`: nothing."
        ),
    ] = "ask"
    elision_minutes_max: Annotated[
        int,
        Meta(
            ge=1,
            description="Time that is skipped inside a scene, in minutes. A longer skip closes the"
            " scene, unless the player says otherwise.",
        ),
    ] = 180
    summary_tokens: Annotated[
        int, Meta(ge=30, description="Length of a scene's summary for one witness, in tokens.")
    ] = 160
