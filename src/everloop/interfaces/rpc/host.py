"""The host on a connection: its identity, and the engine that executes its requests.

The name comes from the command line, the session from the server. A request can change neither;
what it claims about itself is stored as a claim.
"""

from dataclasses import dataclass

import msgspec

from everloop.app import Engine
from everloop.errors import Forbidden
from everloop.log import Command, Context, Receipt
from everloop.memory import load_viewer


@dataclass(frozen=True, slots=True)
class RpcHost:
    """A host on one connection."""

    engine: Engine
    by: Context

    @property
    def actor(self) -> str:
        """Its actor name, for commands and for visibility."""
        return self.by.actor

    def in_session(self, session: str) -> Context:
        """The context with a session of the host's own, nested in the connection's session."""
        if not session:
            return self.by
        return msgspec.structs.replace(self.by, session=f"{self.by.session}/{session}")

    def check_scope_access(self, scope: str) -> str:
        """Check that the host has access to a scope, and return it: it must see what it writes.

        Raises:
            Forbidden: it has no access.
        """
        with self.engine.reading() as reader:
            if not load_viewer(reader, self.actor).has_scope(scope):
                raise Forbidden(
                    f"{self.actor} has no access to {scope!r}",
                    hint="The user can give it with `everloop grants allow`.",
                )
        return scope

    def do(self, command: Command) -> Receipt:
        """Execute a command as this host."""
        return self.engine.do(command, by=self.by)

    def embed_missing(self) -> None:
        """Embed items that lack vectors before a semantic search, within a time limit."""
        self.engine.memory.embed_briefly()
