"""The projection of the gate's rules in the log."""

from typing import ClassVar

import apsw
import msgspec

from everloop.lessons.model.events import GateRulesSet
from everloop.log import Fact, Projection, on


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
