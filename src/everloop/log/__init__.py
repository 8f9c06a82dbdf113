"""Event sourcing on one append-only log: events, branches, folds, projections, stores."""

from everloop.log.command_bus import CommandBus
from everloop.log.decider import Command, Context, Decider, DecisionContext, Query
from everloop.log.history.impact import AffectedFact, Impact
from everloop.log.log import Log
from everloop.log.maintenance.backup import BackupPlan
from everloop.log.model.branches import MAIN, Branch, Branches, Sight
from everloop.log.model.event import Event, Unknown, catalogue, event, upcast
from everloop.log.model.limits import Limits
from everloop.log.model.record import Fact, Record
from everloop.log.opening import open_log
from everloop.log.read.folded_state import Fold
from everloop.log.read.lineage import visible
from everloop.log.read.projection import Projection, RowInsert, adds, on
from everloop.log.read.reader import Reader
from everloop.log.write.append import Draft, Receipt

__all__ = [
    "MAIN",
    "AffectedFact",
    "BackupPlan",
    "Branch",
    "Branches",
    "Command",
    "CommandBus",
    "Context",
    "Decider",
    "DecisionContext",
    "Draft",
    "Event",
    "Fact",
    "Fold",
    "Impact",
    "Limits",
    "Log",
    "Projection",
    "Query",
    "Reader",
    "Receipt",
    "Record",
    "RowInsert",
    "Sight",
    "Unknown",
    "adds",
    "catalogue",
    "event",
    "on",
    "open_log",
    "upcast",
    "visible",
]
