"""The table of JSON-RPC methods: name, module, parameter type and function.

A module is imported when one of its methods is first called, so that the server starts quickly.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

from everloop.interfaces.rpc.connection import Method
from everloop.interfaces.rpc.host import Host

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


class Row(NamedTuple):
    """Where a method is defined."""

    module: str
    params: str
    function: str


CONTRACT: Final[dict[str, Row]] = {  # the methods of loop-engine
    "ping": Row("methods.ping", "Nothing", "ping"),
    "lesson.create": Row("methods.lessons", "Create", "create"),
    "lesson.recall": Row("methods.lessons", "Recall", "recall"),
    "lesson.promote": Row("methods.lessons", "One", "promote"),
    "lesson.discard": Row("methods.lessons", "Discard", "discard"),
    "lesson.list": Row("methods.lessons", "List", "list_lessons"),
    "lesson.capture_feedback": Row("methods.lessons", "Feedback", "feedback"),
    "lesson.supersede": Row("methods.lessons", "Supersede", "supersede"),
    "memory.create": Row("methods.memories", "Create", "create"),
    "memory.search": Row("methods.memories", "Search", "search"),
    "memory.get": Row("methods.memories", "One", "get"),
    "memory.list": Row("methods.memories", "List", "list_memories"),
    "memory.update": Row("methods.memories", "Update", "update"),
    "memory.delete": Row("methods.memories", "Delete", "delete"),
    "memory.compress": Row("methods.compression", "Compress", "compress"),
    "memory.consolidate": Row("methods.compression", "Consolidate", "consolidate"),
    "memory.recompute_citations": Row("methods.citations", "Nothing", "recompute"),
    "manifest.assemble": Row("methods.manifest", "Assemble", "assemble"),
    "task.log_phase": Row("methods.tasks", "Phase", "log_phase"),
    "task.get_ledger": Row("methods.tasks", "Task", "ledger"),
}
ADDITIONS: Final[dict[str, Row]] = {  # methods that Everloop adds
    "lesson.used": Row("methods.lessons", "Used", "report_use"),
    "lesson.get": Row("methods.lesson_details", "One", "get"),
    "lesson.edit": Row("methods.lesson_details", "Edit", "edit"),
    "lesson.narrate": Row("methods.lesson_details", "Narrate", "narrate"),
    "lesson.activate": Row("methods.lesson_details", "One", "activate"),
    "lesson.gate": Row("methods.lesson_details", "One", "standing"),
}


class Methods(Mapping[str, Method[Host]]):
    """The methods by name, imported on first use."""

    def __init__(self, rows: Mapping[str, Row]) -> None:
        self._rows = rows

    def __getitem__(self, name: str) -> Method[Host]:
        """The method; imports its module on first use."""
        return _load(self._rows[name])

    def __iter__(self) -> Iterator[str]:
        """The method names."""
        return iter(self._rows)

    def __len__(self) -> int:
        """The number of methods."""
        return len(self._rows)


@cache
def _load(row: Row) -> Method[Host]:
    module = import_module(f"{PACKAGE}.{row.module}")
    return Method(getattr(module, row.params), getattr(module, row.function))


METHODS: Final = Methods(CONTRACT | ADDITIONS)
