"""The one at the other end of a connection: who it is, and what its requests are carried out with.

The name comes from how the door was opened, the session from the door. A request can change
neither; what it claims about itself is stored as a claim.
"""

from dataclasses import dataclass

import msgspec

from everloop.app import Engine
from everloop.errors import Forbidden
from everloop.log import Command, Context, Receipt
from everloop.memory.projections.queries import asker


@dataclass(frozen=True, slots=True)
class Host:
    """A host on one connection."""

    engine: Engine
    by: Context

    @property
    def actor(self) -> str:
        """Its name, as who speaks and as who asks."""
        return self.by.actor

    def within(self, session: str) -> Context:
        """Who speaks, in a session of the host's own. It counts as part of the connection's."""
        if not session:
            return self.by
        return msgspec.structs.replace(self.by, session=f"{self.by.session}/{session}")

    def reached(self, scope: str) -> str:
        """The scope, if the host may ask within it: it must be able to see what it writes.

        Raises:
            Forbidden: it may not.
        """
        with self.engine.reading() as reader:
            if not asker(reader, self.actor).admits(scope):
                raise Forbidden(
                    f"{self.actor} may not ask within {scope!r}",
                    hint="The user can let it in with `everloop grants allow`.",
                )
        return scope

    def do(self, command: Command) -> Receipt:
        """Carry out a command in its name."""
        return self.engine.do(command, by=self.by)

    def embed(self) -> None:
        """Make the vectors that items lack, before their meaning is searched; some, if many."""
        self.engine.memory.embed_briefly()
