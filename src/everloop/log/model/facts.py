"""Events about the log itself: branches created, forked or switched to, retractions, purges.

They are ordinary facts in the stream `log`. Branch facts and purges count on every branch; a
retraction counts on the branches that see it.
"""

from everloop.log.model.event import Event, event

STREAM = "log"


@event("log.branch_planted")
class BranchPlanted(Event, frozen=True):
    """A new tree began: a root branch for the streams named after it, with no history."""

    branch: str


@event("log.branch_forked")
class BranchForked(Event, frozen=True):
    """A branch left its parent after position `at` and does not see later facts of the parent."""

    branch: str
    parent: str
    at: int


@event("log.branch_stood")
class BranchStood(Event, frozen=True):
    """`branch` became the current branch of its tree."""

    branch: str


@event("log.retracted")
class Retracted(Event, frozen=True):
    """These facts, and all that was derived from them, no longer count. Retract it to undo it."""

    positions: tuple[int, ...]
    reason: str


@event("log.purged")
class Purged(Event, frozen=True):
    """The payloads at these positions were erased for good. Their tombstones stay in the chain."""

    positions: tuple[int, ...]
    reason: str


@event("notes.note_written")
class NoteWritten(Event, frozen=True):
    """An actor left a note in the log."""

    text: str


LogEvent = BranchPlanted | BranchForked | BranchStood | Retracted | Purged
