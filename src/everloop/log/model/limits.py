"""Limits of the log, with defaults. `docs/settings.md` is generated from this file."""

from typing import Annotated

import msgspec
from msgspec import Meta


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The log's bounds; section `[log]` of the settings file."""

    event_bytes_max: Annotated[
        int, Meta(ge=1, description="Largest event, in bytes of JSON. Larger content is attached.")
    ] = 1_048_576
    batch_max: Annotated[
        int, Meta(ge=1, description="Most appends that share one trip to the disk.")
    ] = 256
    snapshot_every: Annotated[
        int, Meta(ge=1, description="Facts folded before a stream's state is saved as a snapshot.")
    ] = 1_000
    snapshots_kept: Annotated[
        int,
        Meta(ge=1, description="Newest snapshots kept of each stream and branch, and then fewer."),
    ] = 8
    states_kept: Annotated[int, Meta(ge=1, description="Folded states kept in memory.")] = 1_000
    lock_wait_s: Annotated[
        float, Meta(ge=0, description="How long to wait for another process that is writing.")
    ] = 10.0
    poll_s: Annotated[
        float, Meta(gt=0, description="How often a follower looks for other processes' appends.")
    ] = 0.1
    wal_bytes_max: Annotated[
        int, Meta(ge=65_536, description="Size of the write-ahead file that starts a checkpoint.")
    ] = 4_194_304
