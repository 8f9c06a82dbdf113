"""A command bus made of one function, for tests that look at commands or make them fail."""

from collections.abc import Callable, Sequence
from typing import Any

from everloop.log import Command, Context, Receipt


class FunctionBus:
    """Calls a function for each command."""

    def __init__(self, function: Callable[..., Receipt]) -> None:
        self._function = function

    def do(self, command: Command, *, by: Context, **how: Any) -> Receipt:
        """Call the function with the command."""
        return self._function(command, by=by, **how)

    def do_many(self, commands: Sequence[Command], *, by: Context) -> list[Receipt]:
        """Call the function with each command."""
        return [self._function(command, by=by) for command in commands]

    def do_each(self, asked: Sequence[tuple[Command, Context]]) -> list[Receipt]:
        """Call the function with each command."""
        return [self._function(command, by=by) for command, by in asked]
