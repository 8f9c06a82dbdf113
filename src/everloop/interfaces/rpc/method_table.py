"""The table of JSON-RPC methods: name, module, parameter type and function.

A module is imported when one of its methods is first called, so that the server starts quickly.
"""

# pyright: reportUnusedImport=false
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

from everloop.interfaces.rpc.connection import RpcMethod
from everloop.interfaces.rpc.host import RpcHost

if TYPE_CHECKING:  # so that import-linter sees what the rows import by name
    from everloop.interfaces.rpc.methods import (  # noqa: F401 - imported by name, in `_load`
        citations,
        compression,
        lesson_details,
        lessons,
        manifest,
        memories,
        ping,
        tasks,
    )

PACKAGE: Final = "everloop.interfaces.rpc"


class MethodRow(NamedTuple):
    """Where a method is defined."""

    module: str
    params: str
    function: str


LOOP_ENGINE_METHODS: Final[dict[str, MethodRow]] = {  # the methods of loop-engine
    "ping": MethodRow("methods.ping", "Nothing", "ping"),
    "lesson.create": MethodRow("methods.lessons", "Create", "create"),
    "lesson.recall": MethodRow("methods.lessons", "Recall", "recall"),
    "lesson.promote": MethodRow("methods.lessons", "LessonById", "promote"),
    "lesson.discard": MethodRow("methods.lessons", "Discard", "discard"),
    "lesson.list": MethodRow("methods.lessons", "List", "list_lessons"),
    "lesson.capture_feedback": MethodRow("methods.lessons", "Feedback", "feedback"),
    "lesson.supersede": MethodRow("methods.lessons", "Supersede", "supersede"),
    "memory.create": MethodRow("methods.memories", "Create", "create"),
    "memory.search": MethodRow("methods.memories", "Search", "search"),
    "memory.get": MethodRow("methods.memories", "MemoryById", "get"),
    "memory.list": MethodRow("methods.memories", "List", "list_memories"),
    "memory.update": MethodRow("methods.memories", "Update", "update"),
    "memory.delete": MethodRow("methods.memories", "Delete", "delete"),
    "memory.compress": MethodRow("methods.compression", "Compress", "compress"),
    "memory.consolidate": MethodRow("methods.compression", "Consolidate", "consolidate"),
    "memory.recompute_citations": MethodRow("methods.citations", "Nothing", "recompute"),
    "manifest.assemble": MethodRow("methods.manifest", "Assemble", "assemble"),
    "task.log_phase": MethodRow("methods.tasks", "Phase", "log_phase"),
    "task.get_ledger": MethodRow("methods.tasks", "TaskById", "ledger"),
}
ADDED_METHODS: Final[dict[str, MethodRow]] = {  # methods that Everloop adds
    "lesson.used": MethodRow("methods.lessons", "Used", "report_use"),
    "lesson.get": MethodRow("methods.lesson_details", "LessonById", "get"),
    "lesson.edit": MethodRow("methods.lesson_details", "Edit", "edit"),
    "lesson.narrate": MethodRow("methods.lesson_details", "Narrate", "narrate"),
    "lesson.activate": MethodRow("methods.lesson_details", "LessonById", "activate"),
    "lesson.gate": MethodRow("methods.lesson_details", "LessonById", "standing"),
}


class MethodTable(Mapping[str, RpcMethod[RpcHost]]):
    """The methods by name, imported on first use."""

    def __init__(self, rows: Mapping[str, MethodRow]) -> None:
        self._rows = rows

    def __getitem__(self, name: str) -> RpcMethod[RpcHost]:
        """The method; imports its module on first use."""
        return _load(self._rows[name])

    def __iter__(self) -> Iterator[str]:
        """The method names."""
        return iter(self._rows)

    def __len__(self) -> int:
        """The number of methods."""
        return len(self._rows)


@cache
def _load(row: MethodRow) -> RpcMethod[RpcHost]:
    module = import_module(f"{PACKAGE}.{row.module}")
    return RpcMethod(getattr(module, row.params), getattr(module, row.function))


METHODS: Final = MethodTable(LOOP_ENGINE_METHODS | ADDED_METHODS)
