"""Event sourcing on one append-only log: events, branches, folds, projections, stores."""

from typing import TYPE_CHECKING

from everloop.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from everloop.log.command_bus import CommandBus
    from everloop.log.decider import Command, Context, Decider, DecisionContext, Query
    from everloop.log.history.impact_preview import AffectedFact, Impact
    from everloop.log.idempotency import (
        execute_once,
        first_result,
        id_for_request,
        name_request,
        retract_once,
        step_request_id,
    )
    from everloop.log.integrity.rebuild import rebuild_projections
    from everloop.log.integrity.verify import Verification, verify_log
    from everloop.log.log import Log
    from everloop.log.maintenance.backup import BackupFile, BackupPlan, list_backups, make_backup
    from everloop.log.maintenance.upgrade import UpgradePlan, back_up_before_upgrade, plan_upgrade
    from everloop.log.model.branches import MAIN, POSITION_MAX, Branch, Branches, Sight
    from everloop.log.model.event import Event, Unknown, catalogue, event, upcast
    from everloop.log.model.facts import BranchForked, NoteWritten
    from everloop.log.model.limits import Limits
    from everloop.log.model.record import (
        Fact,
        Record,
        decode_positions,
        fact_of,
        from_microseconds,
        to_microseconds,
    )
    from everloop.log.opening import BACKUP_FOLDER, node_backup_folder, open_log
    from everloop.log.read.folded_state import Fold
    from everloop.log.read.lineage import visible
    from everloop.log.read.projection import Projection, RowInsert, adds, on
    from everloop.log.read.queries import (
        BranchList,
        BranchSummary,
        ExplainFact,
        FactDetails,
        FactsAtPositions,
        ListedRecord,
        NewestFacts,
    )
    from everloop.log.read.reader import Reader
    from everloop.log.transfer.archive import export_jsonl, import_jsonl, require_readable_file
    from everloop.log.transfer.move import move_log
    from everloop.log.transfer.restore import RestoreResult, restore_log
    from everloop.log.transfer.warehouse import SyncResult, WarehouseSync
    from everloop.log.write.append import Draft, Receipt

__all__ = [
    "BACKUP_FOLDER",
    "MAIN",
    "POSITION_MAX",
    "AffectedFact",
    "BackupFile",
    "BackupPlan",
    "Branch",
    "BranchForked",
    "BranchList",
    "BranchSummary",
    "Branches",
    "Command",
    "CommandBus",
    "Context",
    "Decider",
    "DecisionContext",
    "Draft",
    "Event",
    "ExplainFact",
    "Fact",
    "FactDetails",
    "FactsAtPositions",
    "Fold",
    "Impact",
    "Limits",
    "ListedRecord",
    "Log",
    "NewestFacts",
    "NoteWritten",
    "Projection",
    "Query",
    "Reader",
    "Receipt",
    "Record",
    "RestoreResult",
    "RowInsert",
    "Sight",
    "SyncResult",
    "Unknown",
    "UpgradePlan",
    "Verification",
    "WarehouseSync",
    "adds",
    "back_up_before_upgrade",
    "catalogue",
    "decode_positions",
    "event",
    "execute_once",
    "export_jsonl",
    "fact_of",
    "first_result",
    "from_microseconds",
    "id_for_request",
    "import_jsonl",
    "list_backups",
    "make_backup",
    "move_log",
    "name_request",
    "node_backup_folder",
    "on",
    "open_log",
    "plan_upgrade",
    "rebuild_projections",
    "require_readable_file",
    "restore_log",
    "retract_once",
    "step_request_id",
    "to_microseconds",
    "upcast",
    "verify_log",
    "visible",
]

__getattr__ = lazy_exports(__name__, __file__)
