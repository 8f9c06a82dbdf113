"""The append-only log: its events, its stores, branches and folds."""

from everloop.log.backups import BackupPlan
from everloop.log.branches import MAIN, Branch, Branches, Sight
from everloop.log.decider import Asking, Command, Context, Decider, Query
from everloop.log.event import Event, Unknown, catalogue, event, upcast
from everloop.log.limits import Limits
from everloop.log.lineage import visible
from everloop.log.log import Log
from everloop.log.opening import open_log
from everloop.log.projection import Added, Projection, adds, on
from everloop.log.reader import Reader
from everloop.log.record import Fact, Record
from everloop.log.retraction import Impact, Touched
from everloop.log.states import Fold
from everloop.log.work import Draft, Receipt

__all__ = [
    "MAIN",
    "Added",
    "Asking",
    "BackupPlan",
    "Branch",
    "Branches",
    "Command",
    "Context",
    "Decider",
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
    "Sight",
    "Touched",
    "Unknown",
    "adds",
    "catalogue",
    "event",
    "on",
    "open_log",
    "upcast",
    "visible",
]
