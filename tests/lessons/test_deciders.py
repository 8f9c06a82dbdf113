"""The decider table has every command of lessons once."""

from everloop.lessons.deciders import LESSON_DECIDERS, gate_decider
from everloop.lessons.model import commands
from everloop.lessons.settings import GateRules
from everloop.log import Command

COMMANDS = {
    value
    for value in vars(commands).values()
    if isinstance(value, type) and issubclass(value, Command) and value is not Command
}


def test_every_command_is_decided_once() -> None:
    decided = [decider.command for decider in (*LESSON_DECIDERS, gate_decider(GateRules()))]
    assert set(decided) == COMMANDS
    assert len(decided) == len(set(decided))
