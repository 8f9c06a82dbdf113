"""Every method, one row each: its name, its module, its parameters, and who carries it out.

A module is loaded when one of its methods is first called, so that the door answers soon.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Final, NamedTuple

from everloop.interfaces.rpc.conversation import Method
from everloop.interfaces.rpc.host import Host

PACKAGE: Final = "everloop.interfaces.rpc"


class Row(NamedTuple):
    """Where a method is found."""

    module: str
    params: str
    function: str


CONTRACT: Final[dict[str, Row]] = {  # what loop-engine's hosts expect
    "ping": Row("greeting", "Nothing", "ping"),
    "lesson.create": Row("lessons", "Create", "create"),
    "lesson.recall": Row("lessons", "Recall", "recall"),
    "lesson.promote": Row("lessons", "One", "promote"),
    "lesson.discard": Row("lessons", "Discard", "discard"),
    "lesson.list": Row("lessons", "List", "listed"),
    "lesson.capture_feedback": Row("lessons", "Feedback", "feedback"),
    "lesson.supersede": Row("lessons", "Supersede", "supersede"),
    "memory.create": Row("memories", "Create", "create"),
    "memory.search": Row("memories", "Search", "search"),
    "memory.get": Row("memories", "One", "get"),
    "memory.list": Row("memories", "List", "listed"),
    "memory.update": Row("memories", "Update", "update"),
    "memory.delete": Row("memories", "Delete", "delete"),
    "memory.compress": Row("compressions", "Compress", "compress"),
    "memory.consolidate": Row("compressions", "Consolidate", "consolidate"),
    "memory.recompute_citations": Row("citations", "Nothing", "recompute"),
    "manifest.assemble": Row("manifests", "Assemble", "assemble"),
    "task.log_phase": Row("tasks", "Phase", "log_phase"),
    "task.get_ledger": Row("tasks", "Task", "ledger"),
}
ADDITIONS: Final[dict[str, Row]] = {  # what Everloop knows besides
    "lesson.used": Row("lessons", "Used", "used"),
    "lesson.get": Row("standings", "One", "get"),
    "lesson.edit": Row("standings", "Edit", "edit"),
    "lesson.narrate": Row("standings", "Narrate", "narrate"),
    "lesson.activate": Row("standings", "One", "activate"),
    "lesson.gate": Row("standings", "One", "standing"),
}


class Methods(Mapping[str, Method[Host]]):
    """The methods by their names."""

    def __init__(self, rows: Mapping[str, Row]) -> None:
        self._rows = rows

    def __getitem__(self, name: str) -> Method[Host]:
        """The method, loaded if it was not."""
        return _loaded(self._rows[name])

    def __iter__(self) -> Iterator[str]:
        """Their names."""
        return iter(self._rows)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._rows)


@cache
def _loaded(row: Row) -> Method[Host]:
    module = import_module(f"{PACKAGE}.{row.module}")
    return Method(getattr(module, row.params), getattr(module, row.function))


METHODS: Final = Methods(CONTRACT | ADDITIONS)
