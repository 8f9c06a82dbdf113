"""How recent turns went, for any domain: which wait, and which failed and why."""

from collections.abc import Iterable

import msgspec

ENDED = frozenset({"done", "rendered", "stopped", "failed", "uncertain"})


class TurnStep(msgspec.Struct, frozen=True):
    """One recorded step of a turn; `reason` and `hint` are those of a failure."""

    position: int
    turn_id: str
    phase: str
    at_us: int
    reason: str = ""
    hint: str = ""


class TurnOutcomes(msgspec.Struct, frozen=True):
    """How turns went since a time. `answered_since`: an answer came after the newest failure."""

    waiting: int = 0
    answered: int = 0
    failed: int = 0
    uncertain: int = 0
    newest_failure: TurnStep | None = None
    answered_since: bool = False


def count_outcomes(steps: Iterable[TurnStep]) -> TurnOutcomes:
    """Count turns by the last step of each. Steps may come in any order."""
    last: dict[str, TurnStep] = {}
    for step in sorted(steps, key=lambda one: one.position):
        last[step.turn_id] = step
    ends = list(last.values())
    failures = [one for one in ends if one.phase == "failed"]
    answers = [one for one in ends if one.phase in ("done", "rendered")]
    newest = max(failures, key=lambda one: one.position, default=None)
    return TurnOutcomes(
        waiting=sum(one.phase not in ENDED for one in ends),
        answered=len(answers),
        failed=len(failures),
        uncertain=sum(one.phase == "uncertain" for one in ends),
        newest_failure=newest,
        answered_since=newest is not None
        and any(one.position > newest.position for one in answers),
    )
