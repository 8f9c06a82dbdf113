"""Commands and queries: what callers say to an engine.

A command is an intent; a decider turns it into events, purely, from the state of one stream and
from who asks and when. A query reads views through a sight. Both are plain values, so every door
can build them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from everloop.log.model.event import Event
from everloop.log.model.record import moment
from everloop.log.read.folded_state import Fold
from everloop.log.read.reader import Reader
from everloop.log.write.append import Desk, Draft

S = TypeVar("S")
C = TypeVar("C", bound="Command")
T_co = TypeVar("T_co", covariant=True)


class Command(msgspec.Struct, frozen=True):
    """An intent, in the imperative."""


class Context(msgspec.Struct, frozen=True):
    """Who speaks. The door decides it, never a parameter of the request."""

    actor: str = "user"
    tenant: str = "local"
    user: str = "user"
    session: str = ""
    team: str = ""


class Asking(msgspec.Struct, frozen=True):
    """What a decision knows besides state and command: who asks, and when."""

    by: Context
    now: datetime
    known: Any = None  # what the decider's `also` found in the views


class Query(Protocol[T_co]):
    """A question to the views."""

    def answer(self, reader: Reader) -> T_co:
        """The answer, as this reader's sight has it."""
        ...


@dataclass(frozen=True, slots=True)
class Decider(Generic[C, S]):
    """How one command is decided: on which stream, from which state, by which function.

    `also` reads from the views what the decision needs beyond the state of its own stream.
    """

    command: type[C]
    stream: Callable[[C], str]
    fold: Fold[S]
    decide: Callable[[S | None, C, Asking], Sequence[Event | Draft]]
    also: Callable[[Reader, C], Any] | None = None

    def drafts(self, command: C, by: Context, desk: Desk) -> list[Draft]:
        """What the command leads to, at this desk."""
        state: Any = desk.state(self.fold, desk.stream)
        known: Any = None
        if self.also is not None:
            desk.reader.look(desk.sight)
            known = self.also(desk.reader, command)
        happened = self.decide(state, command, Asking(by, _moment(desk.now_us), known))
        return [item if isinstance(item, Draft) else Draft(item) for item in happened]


_moment = lru_cache(maxsize=1)(moment)  # all decisions of a transaction are of one time
