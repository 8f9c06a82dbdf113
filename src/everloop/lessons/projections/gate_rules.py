"""The projection of the gate's rules in the log."""

from typing import ClassVar

import apsw
import msgspec

from everloop.lessons.model.events import GateRulesSet
from everloop.lessons.settings import GateRules
from everloop.log import Fact, Projection, Reader, on, visible


class GateRulesTable(Projection):
    """The rules of the gate that were set."""

    name = "gate_rules"
    tables: ClassVar[tuple[str, ...]] = ("gate_rules",)
    schema = """
    CREATE TABLE gate_rules (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        rules    TEXT NOT NULL
    ) STRICT;
    """

    @on(GateRulesSet)
    def _set(self, db: apsw.Connection, new: GateRulesSet, fact: Fact) -> None:
        rules = msgspec.json.encode(msgspec.structs.asdict(new)).decode()
        row = (fact.position, fact.branch, rules)
        db.execute("INSERT INTO gate_rules VALUES (?, ?, ?)", row)


def recorded_rules(reader: Reader) -> GateRules | None:
    """The rules of the gate that the log holds; None if it has none."""
    rows = reader.rows(_NEWEST)
    return msgspec.json.decode(rows[0][0], type=GateRules) if rows else None


_NEWEST = f"""
SELECT r.rules FROM gate_rules r WHERE {visible("r")} ORDER BY r.position DESC LIMIT 1
"""  # noqa: S608 - our own condition
