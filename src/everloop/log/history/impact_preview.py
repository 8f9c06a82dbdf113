"""Previews: which facts a retraction, rewind or purge would hide or restore.

Preview and execution use the same closure over `because` (`lineage.closure`), so what the preview
lists is what happens.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.log.model.branches import Branch, Sight
from everloop.log.model.facts import STREAM, Retracted
from everloop.log.read.lineage import active_retractions, derived_closure
from everloop.log.read.reader import Reader


class AffectedFact(msgspec.Struct, frozen=True):
    """A fact that would be hidden or restored."""

    position: int
    kind: str
    stream: str


class Impact(msgspec.Struct, frozen=True):
    """The facts that would stop counting, and those that would count again."""

    hides: tuple[AffectedFact, ...]
    restores: tuple[AffectedFact, ...]

    def hidden_by_kind(self) -> dict[str, int]:
        """How many facts of each kind would stop counting, most first."""
        return dict(Counter(touched.kind for touched in self.hides).most_common())


def retraction_impact(reader: Reader, positions: Sequence[int], sight: Sight) -> Impact:
    """What retracting these facts would change in this sight.

    Raises:
        NotFound: one of them does not exist or does not count here.
        Invalid: one of them is a branch fact or a purge, which cannot be retracted.
    """
    _check_retractable(reader, positions, sight)
    gone = derived_closure(reader.db, positions)
    active = active_retractions(reader.db, sight)
    active_after = active_retractions(reader.db, sight, without=frozenset(gone))
    touched = sorted({*gone, *_hidden_by(reader, set(active) ^ set(active_after))})
    before = _visible(reader, touched, sight, active)
    after = _visible(reader, sorted(set(touched) - set(gone)), sight, active_after)
    return _difference(before, after)


def rewind_impact(reader: Reader, to: int, line: Branch, sight: Sight) -> Impact:
    """What rewinding a branch to a position would change in this sight.

    Retractions made since then are undone too, so what they hid counts again.
    """
    then = Sight({**sight.caps, **{name: min(cap, to) for name, cap in line.lineage()}})
    active = active_retractions(reader.db, sight)
    active_then = active_retractions(reader.db, then)
    later = reader.rows("SELECT position FROM log WHERE position > ?", (to,))
    changed = _hidden_by(reader, set(active) ^ set(active_then))
    touched = sorted({*(row[0] for row in later), *changed})
    before = _visible(reader, touched, sight, active)
    after = _visible(reader, touched, then, active_then)
    return _difference(_without_log_facts(before), _without_log_facts(after))


def purge_impact(reader: Reader, positions: Sequence[int]) -> Impact:
    """The payloads that a purge would erase: of these facts and of all derived from them.

    Raises:
        NotFound: one of them does not exist.
        Invalid: one of them is a fact about the log itself, or `positions` is empty.
    """
    if not positions:
        raise Invalid("no position to purge was given", hint="Give at least one position.")
    gone = purge_closure(reader, positions)
    return Impact(hides=_touched(reader, gone, "data IS NOT NULL"), restores=())


def purge_closure(reader: Reader, positions: Sequence[int]) -> list[int]:
    """These facts and all derived from them, also those that were purged before.

    Raises:
        NotFound: one of them does not exist.
        Invalid: one of them is a fact about the log itself.
    """
    for position in positions:
        _refuse_log_facts(reader.record(position).kind, position)
    return derived_closure(reader.db, positions)


def _check_retractable(reader: Reader, positions: Sequence[int], sight: Sight) -> None:
    if not positions:
        raise Invalid("no position to retract was given", hint="Give at least one position.")
    reader.use_sight(sight)
    for position in positions:
        record = reader.record(position)
        if record.kind != Retracted.wire:
            _refuse_log_facts(record.kind, position)
        if not _visible(reader, [position], sight, active_retractions(reader.db, sight)):
            raise NotFound(
                f"position {position} does not count here",
                hint="It is on another branch, or was retracted already.",
            )


def _refuse_log_facts(kind: str, position: int) -> None:
    if kind.startswith(f"{STREAM}."):
        raise Invalid(
            f"position {position} is a {kind}, which cannot be retracted or purged",
            hint="To undo a branch, switch to another one. A purge cannot be undone.",
        )


def _hidden_by(reader: Reader, retractions: set[int]) -> set[int]:
    """The positions that these retractions hide."""
    rows = reader.rows(
        "SELECT DISTINCT position FROM log_hidden"
        " WHERE hidden_by IN (SELECT value FROM json_each(?))",
        (_json(sorted(retractions)),),
    )
    return {row[0] for row in rows}


def _visible(
    reader: Reader, positions: Sequence[int], sight: Sight, active: Sequence[int]
) -> tuple[AffectedFact, ...]:
    """Those of these facts that count, given the active retractions."""
    hidden = {
        row[0]
        for row in reader.rows(
            "SELECT DISTINCT position FROM log_hidden WHERE position IN"
            " (SELECT value FROM json_each(?)) AND hidden_by IN (SELECT value FROM json_each(?))",
            (_json(positions), _json(active)),
        )
    }
    lacking = {
        row[0]
        for row in reader.rows(
            "SELECT position, branch, at FROM log_needs WHERE position IN"
            " (SELECT value FROM json_each(?))",
            (_json(positions),),
        )
        if not sight.sees(row[1], row[2])
    }
    out = hidden | lacking
    return tuple(
        AffectedFact(position, kind, stream)
        for position, kind, stream, branch in reader.rows(
            "SELECT position, kind, stream, branch FROM log WHERE position IN"
            " (SELECT value FROM json_each(?)) ORDER BY position",
            (_json(positions),),
        )
        if position not in out and sight.sees(branch, position)
    )


def _difference(before: Sequence[AffectedFact], after: Sequence[AffectedFact]) -> Impact:
    return Impact(
        hides=tuple(sorted(set(before) - set(after), key=_position)),
        restores=tuple(sorted(set(after) - set(before), key=_position)),
    )


def _without_log_facts(facts: Sequence[AffectedFact]) -> list[AffectedFact]:
    """Without facts about the log itself: a rewind does not change branches and purges."""
    return [fact for fact in facts if not fact.kind.startswith(f"{STREAM}.")]


def _touched(reader: Reader, positions: Sequence[int], condition: str) -> tuple[AffectedFact, ...]:
    rows = reader.rows(
        f"SELECT position, kind, stream FROM log WHERE {condition} AND position IN"  # noqa: S608
        " (SELECT value FROM json_each(?)) ORDER BY position",
        (_json(positions),),
    )
    return tuple(AffectedFact(*row) for row in rows)


def _position(touched: AffectedFact) -> int:
    return touched.position


def _json(values: Sequence[int]) -> str:
    return msgspec.json.encode(list(values)).decode()
