"""Settings of the inbox; section `[inbox]`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class InboxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the inbox shows, and how long approvals wait; section `[inbox]`."""

    approval_lives_s: Annotated[
        int,
        Meta(
            ge=0,
            description="Seconds after which an approval that nobody answered counts as denied."
            " 0: never.",
        ),
    ] = 86_400
    finished_s: Annotated[
        int, Meta(ge=0, description="Seconds for which finished work is shown above the history.")
    ] = 1_800
    history_limit: Annotated[
        int, Meta(ge=1, le=500, description="Maximum number of closed requests in the overview.")
    ] = 50
