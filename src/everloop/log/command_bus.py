"""The command bus: how a domain's services and tasks carry out commands. The engine is one."""

from collections.abc import Sequence
from typing import Protocol

from everloop.log.decider import Command, Context
from everloop.log.write.append import Receipt


class CommandBus(Protocol):
    """Decides commands and records what they lead to."""

    def do(
        self,
        command: Command,
        *,
        by: Context,
        branch: str | None = None,
        request_id: str | None = None,
    ) -> Receipt:
        """Carry out a command; returns when its events are durable.

        Raises:
            Rejected: the decision refused it.
        """
        ...

    def do_many(self, commands: Sequence[Command], *, by: Context) -> list[Receipt]:
        """Carry out commands in their order, sharing transactions. Each is decided by itself."""
        ...

    def do_each(self, asked: Sequence[tuple[Command, Context]]) -> list[Receipt]:
        """The same, with who asks for each command."""
        ...
