"""Commands, queries and deciders: how callers talk to the engine.

A command is an intent. A decider turns it into events: a pure function of the state of one stream,
the command, the caller and the time. A query reads views. Both are plain values, so every interface
can build them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from everloop.log.model.event import Event
from everloop.log.model.record import from_microseconds
from everloop.log.read.folded_state import Fold
from everloop.log.read.reader import Reader
from everloop.log.write.append import Draft, TransactionContext

S = TypeVar("S")
C = TypeVar("C", bound="Command")
T_co = TypeVar("T_co", covariant=True)


class Command(msgspec.Struct, frozen=True):
    """An intent, in the imperative."""


class Context(msgspec.Struct, frozen=True):
    """Who makes a request. The interface sets it, never a parameter of the request."""

    actor: str = "user"
    tenant: str = "local"
    user: str = "user"
    session: str = ""
    team: str = ""
    request: str = ""  # names the request, so that what it appends is appended once


class DecisionContext(msgspec.Struct, frozen=True):
    """What a decision knows besides state and command: the caller and the time.

    The time is what the clock says. A record's time can be later, where the clock once was wrong:
    time in the log never goes back. Ages measured by the clock are then too short, never too long.
    """

    by: Context
    now: datetime
    known: Any = None  # the result of the decider's `also`


class Query(Protocol[T_co]):
    """A read of the views."""

    def answer(self, reader: Reader) -> T_co:
        """The result, from the facts that this reader sees."""
        ...


@dataclass(frozen=True, slots=True)
class Decider(Generic[C, S]):
    """Handles one command: its stream, the fold of the stream's state, the decide function.

    `also` reads from the views what the decision needs besides the state of its stream.
    """

    command: type[C]
    stream: Callable[[C], str]
    fold: Fold[S]
    decide: Callable[[S | None, C, DecisionContext], Sequence[Event | Draft]]
    also: Callable[[Reader, C], Any] | None = None

    def drafts(self, command: C, by: Context, desk: TransactionContext) -> list[Draft]:
        """Decide a command inside the write transaction; returns the events to append."""
        state: Any = desk.state(self.fold, desk.stream)
        known: Any = None
        if self.also is not None:
            desk.reader.use_sight(desk.sight)
            known = self.also(desk.reader, command)
        events = self.decide(state, command, DecisionContext(by, _moment(desk.clock_us), known))
        return [item if isinstance(item, Draft) else Draft(item) for item in events]


_moment = lru_cache(maxsize=1)(
    from_microseconds
)  # all decisions of a transaction have the same time
