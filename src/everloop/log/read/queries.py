"""Queries about the log: newest facts, the details of one fact, branches, views.

They only read, through a `Reader`, so every interface gives the same answers. A listing shows
records as stored, whether or not they count, each with its verdict for this reader.
"""

from typing import Any, Literal

import msgspec

from everloop.log.model.branches import POSITION_MAX, Branches
from everloop.log.model.facts import STREAM, BranchForked, BranchPlanted, BranchStood, Purged
from everloop.log.model.record import Record, decode_positions
from everloop.log.read.lineage import derived_closure, load_branches, visible
from everloop.log.read.reader import Reader
from everloop.log.schema import COLUMNS

Verdict = Literal["counts", "retracted", "purged", "elsewhere"]

DEPENDANTS_MAX = 100

# Branch facts and purges count on every branch; see `model/facts.py`.
_EVERYWHERE = ", ".join(
    f"'{kind.wire}'" for kind in (BranchPlanted, BranchForked, BranchStood, Purged)
)
_WITH_VERDICT = f"""
SELECT {COLUMNS}, CASE
    WHEN data IS NULL THEN 'purged'
    WHEN kind IN ({_EVERYWHERE}) OR {visible("log")} THEN 'counts'
    WHEN EXISTS (SELECT 1 FROM log_hidden h JOIN temp.active a ON a.position = h.hidden_by
                 WHERE h.position = log.position)
     AND EXISTS (SELECT 1 FROM temp.sight s WHERE s.branch = log.branch AND log.position <= s.cap)
    THEN 'retracted'
    ELSE 'elsewhere' END AS verdict
FROM log
"""  # noqa: S608 - our own names only


class ListedRecord(msgspec.Struct, frozen=True):
    """A record with its verdict: whether it counts for this reader, and if not, why.

    `retracted`: retracted, or derived from a retracted fact. `purged`: its payload was erased.
    `elsewhere`: on a branch that is not visible, or derived from a fact there.
    """

    record: Record
    verdict: Verdict


class NewestFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The newest records, in log order. Names may contain `*`."""

    limit: int
    after: int = 0
    before: int = POSITION_MAX
    stream: str | None = None
    kind: str | None = None
    actor: str | None = None
    counting: bool = False

    def answer(self, reader: Reader) -> list[ListedRecord]:
        """The result, with verdicts for this reader."""
        rows = reader.rows(
            f"SELECT * FROM ({_WITH_VERDICT} WHERE position > :after AND position < :before"  # noqa: S608
            " AND (:stream IS NULL OR stream GLOB :stream)"
            " AND (:kind IS NULL OR kind GLOB :kind)"
            " AND (:actor IS NULL OR actor GLOB :actor)"
            " ORDER BY position DESC) WHERE NOT :counting OR verdict = 'counts' LIMIT :limit",
            msgspec.structs.asdict(self),
        )
        return [_sighting(row) for row in reversed(rows)]


class FactsAtPositions(msgspec.Struct, frozen=True):
    """The records at given positions, in order; missing ones are left out."""

    positions: tuple[int, ...]

    def answer(self, reader: Reader) -> tuple[ListedRecord, ...]:
        """The result, with verdicts for this reader."""
        return _sightings_at(reader, self.positions)


class FactDetails(msgspec.Struct, frozen=True):
    """One record, its sources, and what was derived from it."""

    fact: ListedRecord
    sources: tuple[ListedRecord, ...]
    dependants: tuple[ListedRecord, ...]  # the direct ones, at most `DEPENDANTS_MAX`
    dependants_count: int  # all of them, the indirect ones too
    hidden_by: tuple[ListedRecord, ...]


class ExplainFact(msgspec.Struct, frozen=True):
    """The sources and dependants of one fact."""

    position: int

    def answer(self, reader: Reader) -> FactDetails:
        """The result, with verdicts for this reader.

        Raises:
            NotFound: there is no such record.
        """
        record = reader.record(self.position)
        return FactDetails(
            fact=_sightings(reader, "position = ?1", self.position)[0],
            sources=_sightings_at(reader, decode_positions(record.because)),
            dependants=_sightings(
                reader,
                "position IN (SELECT dependant FROM log_because WHERE source = ?1"
                " ORDER BY dependant LIMIT ?2)",
                self.position,
                DEPENDANTS_MAX,
            ),
            dependants_count=len(derived_closure(reader.db, [self.position])) - 1,
            hidden_by=_sightings(
                reader,
                "position IN (SELECT h.hidden_by FROM log_hidden h"
                " JOIN temp.active a ON a.position = h.hidden_by WHERE h.position = ?1)",
                self.position,
            ),
        )


class BranchSummary(msgspec.Struct, frozen=True):
    """A branch, with how many facts are on it."""

    name: str
    root: str
    parent: str | None
    at: int
    standing: bool
    facts: int  # on this branch, without those of its ancestors
    newest: int  # the position of the last of them; 0 if there is none


class BranchList(msgspec.Struct, frozen=True):
    """All branches, each after its parent."""

    def answer(self, reader: Reader) -> list[BranchSummary]:
        """The result; the same for every reader."""
        branches = Branches()
        load_branches(reader.db, branches)
        counts: dict[str, tuple[int, int]] = {
            name: (facts, newest)
            for name, facts, newest in reader.rows(
                "SELECT branch, count(*), max(position) FROM log WHERE stream <> ? GROUP BY branch",
                (STREAM,),
            )
        }
        return [
            BranchSummary(
                name=branch.name,
                root=branch.root,
                parent=branch.parent.name if branch.parent else None,
                at=branch.at,
                standing=branches.current[branch.root] == branch.name,
                facts=counts.get(branch.name, (0, 0))[0],
                newest=counts.get(branch.name, (0, 0))[1],
            )
            for branch in branches.by_name.values()
        ]


class ViewStatus(msgspec.Struct, frozen=True):
    """A view and the position up to which it has been folded."""

    name: str
    version: int
    position: int


class ViewList(msgspec.Struct, frozen=True):
    """All views in the file."""

    def answer(self, reader: Reader) -> list[ViewStatus]:
        """The result; the same for every reader."""
        rows = reader.rows(
            "SELECT name, version, min(position, ?) FROM views ORDER BY name", (reader.head(),)
        )
        return [ViewStatus(*row) for row in rows]


def _sightings_at(reader: Reader, places: tuple[int, ...]) -> tuple[ListedRecord, ...]:
    chosen = msgspec.json.encode(places).decode()
    return _sightings(reader, "position IN (SELECT value FROM json_each(?1))", chosen)


def _sightings(reader: Reader, condition: str, *bindings: Any) -> tuple[ListedRecord, ...]:
    rows = reader.rows(f"{_WITH_VERDICT} WHERE {condition} ORDER BY position", bindings)
    return tuple(_sighting(row) for row in rows)


def _sighting(row: tuple[Any, ...]) -> ListedRecord:
    return ListedRecord(Record(*row[:-1]), row[-1])
