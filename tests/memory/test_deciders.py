"""The table of deciders: every command of memory is in it, once."""

import msgspec

from everloop.log import Command
from everloop.memory.deciders import MEMORY_DECIDERS, rating_decider
from everloop.memory.model import commands

DECIDERS = (*MEMORY_DECIDERS, rating_decider(8))
COMMANDS = {
    value
    for value in vars(commands).values()
    if isinstance(value, type) and issubclass(value, Command) and value is not Command
}


def test_every_command_is_decided_once() -> None:
    decided = [decider.command for decider in DECIDERS]
    assert set(decided) == COMMANDS
    assert len(decided) == len(set(decided))


def test_every_command_about_an_item_is_decided_on_the_items_stream() -> None:
    for decider in DECIDERS:
        fields = {field.name: field for field in msgspec.structs.fields(decider.command)}
        known = {name: "x" for name, field in fields.items() if field.required}
        command = decider.command(**known)
        stream = decider.stream(command)
        first = next(iter(fields))
        prefix = {
            "item_id": "memory",
            "principal": "audience",
            "context_id": "context",
            "owner": "prompt-texts",
        }[first]
        assert stream == f"{prefix}:x"
