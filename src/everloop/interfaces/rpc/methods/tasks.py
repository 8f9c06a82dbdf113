"""`task.*` methods: the phases that a host's task has reached."""

from typing import Any

import msgspec

from everloop.interfaces.rpc.host import RpcHost
from everloop.interfaces.rpc.shapes import time_json
from everloop.lessons import LogPhase
from everloop.memory import load_viewer


class Phase(msgspec.Struct, frozen=True):
    """A phase that a task reached."""

    task_id: str
    phase: str
    note: str = ""


class TaskById(msgspec.Struct, frozen=True):
    """Which task."""

    task_id: str


def log_phase(host: RpcHost, asked: Phase) -> dict[str, Any]:
    """Record that a task reached a phase; repeating it has no effect."""
    command = LogPhase(asked.task_id, asked.phase, asked.note)
    new = host.engine.lessons.log_phase(command, by=host.by)
    result = {"ok": True, "task_id": asked.task_id, "phase": asked.phase}
    return {**result, "newly_recorded": new}


def ledger(host: RpcHost, asked: TaskById) -> dict[str, Any]:
    """The phases that a task has reached.

    A host that was let into everything sees those of other hosts too; any other only its own.
    """
    with host.engine.reading() as reader:
        everything = "*" in load_viewer(reader, host.actor).scopes
    own = "" if everything else host.actor
    entries = host.engine.lessons.task_phases(asked.task_id, own)
    return {
        "task_id": asked.task_id,
        "phases_logged": [entry.phase for entry in entries],
        "entries": [
            {
                "phase": entry.phase,
                "logged_at": time_json(entry.recorded_at),
                "recorded_at": time_json(entry.recorded_at),
                "note": entry.note or None,
            }
            for entry in entries
        ],
    }
