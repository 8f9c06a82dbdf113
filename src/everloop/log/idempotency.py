"""Asking twice is asking once: what a request led to when it was made before.

A phone that loses its network does not know whether it was heard, and asks again. With the same
request id nothing happens a second time, and the answer is that of the first; the same id for
something else is refused.
"""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import NamedTuple

from everloop.errors import Conflict
from everloop.log.decider import Command, Context
from everloop.log.log import Log
from everloop.log.model.event import Event
from everloop.log.model.facts import Retracted
from everloop.log.write.append import Receipt
from everloop.ports import Ids

Do = Callable[..., Receipt]


class Trace(NamedTuple):
    """How a command shows in the log: in which events, and what of it they say again.

    `word` is the first part of its requests' ids there: one call may lead to several appends. Of
    commands with one word, a request asks for one.
    """

    word: str
    events: tuple[type[Event], ...]
    fields: tuple[str, ...]

    def tells(self, happened: Event, command: Command) -> bool:
        """Whether this is what the command asks for."""
        return isinstance(happened, self.events) and all(
            _agree(attrgetter(name)(command), attrgetter(name)(happened)) for name in self.fields
        )


Traces = Mapping[type[Command], Trace]


def do_once(
    do: Do, command: Command, traces: Traces, *, by: Context, request_id: str | None
) -> Receipt:
    """Carry out a command, or give what the same request led to before.

    Without a `request_id` it is a request of its own.

    Raises:
        Conflict: this request was made before, for something else.
    """
    trace = traces[type(command)]
    receipt = do(command, by=by, request_id=request_name(trace.word, request_id))
    told = (trace.tells(fact.event, command) for fact in receipt.facts)
    if request_id and receipt.repeated and not any(told):
        raise other_request(request_id)
    return receipt


def retract_once(
    log: Log, position: int, reason: str, *, by: Context, request_id: str | None
) -> Receipt:
    """Take a fact back, or give what the same request led to before.

    Raises:
        Conflict: this request was made before, for something else.
    """
    name = request_name("retract", request_id)
    done = log.retract([position], reason=reason, actor=by.actor, request_id=name)
    wanted = Retracted(positions=(position,), reason=reason)
    if request_id and done.repeated and wanted not in [fact.event for fact in done.facts]:
        raise other_request(request_id)
    return done


def request_name(word: str, request_id: str | None) -> str | None:
    """A request id as the log has it; none if there is none."""
    return f"{word}-{request_id}" if request_id else None


def new_id(ids: Ids, prefix: str, request_id: str | None) -> str:
    """What a request calls the thing that it makes: made again, it means the same one."""
    return f"{prefix}-{request_id}" if request_id else ids.new(prefix)


def other_request(request_id: str) -> Conflict:
    """That a request id stands for something else."""
    return Conflict(
        f"request {request_id!r} was made before, for something else",
        hint="Use a new request id for a new request.",
    )


def _agree(wanted: object, told: object) -> bool:
    """Whether a fact says what was wanted; what was left open agrees with anything."""
    if isinstance(wanted, str):
        kept = (wanted, wanted.strip(), " ".join(wanted.split()))  # as decisions keep words
        return not wanted.strip() or told in kept
    return wanted is None or wanted == told
