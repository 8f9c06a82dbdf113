"""The lifecycle of a lesson: a state machine of statuses and operations.

The transition table is total. `None` means that the operation repeats an earlier one and records
nothing; a `Impossible` says why it is impossible. Permissions and the gate are decided elsewhere.
"""

from enum import StrEnum
from typing import Final

from everloop.errors import Conflict


class Status(StrEnum):
    """The status of a lesson. It sorts by name, as hosts list them."""

    PENDING = "pending"
    ACTIVE = "active"
    PROMOTED = "promoted"
    DISCARDED = "discarded"
    SUPERSEDED = "superseded"


STATUS_LABELS: Final[dict[Status, str]] = {  # what people read, in every interface
    Status.PENDING: "Proposed",
    Status.ACTIVE: "In trial",
    Status.PROMOTED: "Approved",
    Status.DISCARDED: "Discarded",
    Status.SUPERSEDED: "Replaced",
}


class Operation(StrEnum):
    """An operation on a lesson."""

    ACTIVATE = "activate"
    SEED = "seed"
    PROMOTE = "promote"
    DEMOTE = "demote"
    DISCARD = "discard"
    SUPERSEDE = "supersede"
    EDIT = "edit"
    NARRATE = "narrate"
    USE = "use"
    PRAISE = "praise"
    BLAME = "blame"
    WITHDRAW = "withdraw"
    PASS = "pass"  # noqa: S105 - a verdict
    FAIL = "fail"


class Impossible(str):
    """Why an operation is impossible, as the end of a sentence about the lesson."""

    __slots__ = ()


Transition = Status | Impossible | None

PENDING, ACTIVE, PROMOTED, DISCARDED, SUPERSEDED = Status
LIVE_STATUSES: Final = (PENDING, ACTIVE, PROMOTED)
APPROVED_STATUSES: Final = (ACTIVE, PROMOTED)  # by the user, or by the gate
_GONE: Final = Impossible("was discarded")
_REPLACED: Final = Impossible("was superseded")
_STAYS: Final[tuple[Transition, ...]] = (PENDING, ACTIVE, PROMOTED, DISCARDED, SUPERSEDED)
_WHILE_LIVE: Final[tuple[Transition, ...]] = (PENDING, ACTIVE, PROMOTED, _GONE, _REPLACED)
_BACK_ON_TRIAL: Final[tuple[Transition, ...]] = (PENDING, ACTIVE, ACTIVE, DISCARDED, SUPERSEDED)

# One row per operation; the columns are pending, active, promoted, discarded, superseded.
_ROWS: Final[dict[Operation, tuple[Transition, ...]]] = {
    Operation.ACTIVATE: (ACTIVE, None, None, _GONE, _REPLACED),
    Operation.SEED: (PROMOTED, PROMOTED, None, _GONE, _REPLACED),
    Operation.PROMOTE: (PROMOTED, PROMOTED, None, _GONE, _REPLACED),
    Operation.DEMOTE: (None, None, ACTIVE, _GONE, _REPLACED),
    Operation.DISCARD: (DISCARDED, DISCARDED, DISCARDED, None, DISCARDED),
    Operation.SUPERSEDE: (SUPERSEDED, SUPERSEDED, SUPERSEDED, _GONE, None),
    Operation.EDIT: (PENDING, ACTIVE, ACTIVE, _GONE, _REPLACED),
    Operation.NARRATE: _WHILE_LIVE,
    Operation.USE: _WHILE_LIVE,
    Operation.PRAISE: _STAYS,
    Operation.BLAME: _BACK_ON_TRIAL,
    Operation.WITHDRAW: _STAYS,
    Operation.PASS: _STAYS,
    Operation.FAIL: _BACK_ON_TRIAL,
}
TRANSITIONS: Final[dict[tuple[Status, Operation], Transition]] = {
    (status, operation): outcome
    for operation, row in _ROWS.items()
    for status, outcome in zip(Status, row, strict=True)
}


def next_status(status: Status, operation: Operation, lesson_id: str) -> Status | None:
    """The status after an operation; None if it would change nothing.

    Raises:
        Conflict: the operation is impossible in this status.
    """
    outcome = TRANSITIONS[status, operation]
    if isinstance(outcome, Impossible):
        raise Conflict(
            f"cannot {operation} {lesson_id!r}: it {outcome}",
            hint="Propose it again, as a new lesson.",
        )
    return outcome
