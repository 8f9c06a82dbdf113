"""`task.*` methods: the phases that a host's task has reached."""

from typing import Any

import msgspec

from everloop.interfaces.rpc.host import RpcHost
from everloop.interfaces.rpc.shapes import time_json
from everloop.lessons.model.commands import LogPhase
from everloop.memory.projections.queries import load_viewer


class Phase(msgspec.Struct, frozen=True):
    """A phase that a task reached."""

    task_id: str
    phase: str
    note: str = ""


class Task(msgspec.Struct, frozen=True):
    """Which task."""

    task_id: str


def log_phase(host: RpcHost, asked: Phase) -> dict[str, Any]:
    """Record that a task reached a phase; repeating it has no effect."""
    command = LogPhase(asked.task_id, asked.phase, asked.note)
    new = host.engine.lessons.log_phase(command, by=host.by)
    result = {"ok": True, "task_id": asked.task_id, "phase": asked.phase}
    return {**result, "newly_recorded": new}


def ledger(host: RpcHost, asked: Task) -> dict[str, Any]:
    """The phases that a task has reached. A host without any access sees none."""
    with host.engine.reading() as reader:
        admitted = bool(load_viewer(reader, host.actor).scopes)
    entries = host.engine.lessons.task_phases(asked.task_id) if admitted else []
    return {
        "task_id": asked.task_id,
        "entries": [
            {
                "phase": entry.phase,
                "recorded_at": time_json(entry.recorded_at),
                "note": entry.note or None,
            }
            for entry in entries
        ],
    }
