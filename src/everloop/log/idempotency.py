"""Idempotent requests: the same request id gives the first result and no second effect.

A client that loses its connection does not know whether its request arrived, and sends it again.
With the same request id nothing happens twice and it gets the first receipt; the same id for a
different request is refused.
"""

import hashlib
from collections.abc import Mapping
from operator import attrgetter
from typing import NamedTuple

from everloop.errors import Conflict
from everloop.log.command_bus import CommandBus
from everloop.log.decider import Command, Context
from everloop.log.log import Log
from everloop.log.model.event import Event
from everloop.log.model.facts import Retracted
from everloop.log.model.record import Fact, fact_of
from everloop.log.write.append import Receipt
from everloop.ports import Ids


class IdempotencyRule(NamedTuple):
    """Which events a command leads to, and which of its fields those events repeat.

    `word` prefixes the request ids of its appends, because one call may make several appends. If
    commands share a word, one request id stands for only one of them.
    """

    word: str
    events: tuple[type[Event], ...]
    fields: tuple[str, ...]

    def matches(self, happened: Event, command: Command) -> bool:
        """Whether an event is a result of the command."""
        return isinstance(happened, self.events) and all(
            _matches(attrgetter(name)(command), attrgetter(name)(happened)) for name in self.fields
        )


IdempotencyRules = Mapping[type[Command], IdempotencyRule]


def execute_once(
    bus: CommandBus,
    command: Command,
    traces: IdempotencyRules,
    *,
    by: Context,
    request_id: str | None,
    branch: str | None = None,
) -> Receipt:
    """Execute a command, or return the receipt of the earlier call with the same request id.

    Without a `request_id` every call is a new request.

    Raises:
        Conflict: the request id was used before, for a different request.
    """
    trace = traces[type(command)]
    name = prefixed_request_id(trace.word, request_id)
    receipt = bus.do(command, by=by, branch=branch, request_id=name)
    matches = (trace.matches(fact.event, command) for fact in receipt.facts)
    if request_id and receipt.repeated and not any(matches):
        raise request_id_conflict(request_id)
    return receipt


def retract_once(
    log: Log, position: int, reason: str, *, by: Context, request_id: str | None
) -> Receipt:
    """Retract a fact, or return the receipt of the earlier call with the same request id.

    Raises:
        Conflict: the request id was used before, for a different request.
    """
    name = prefixed_request_id("retract", request_id)
    done = log.retract([position], reason=reason, actor=by.actor, request_id=name)
    wanted = Retracted(positions=(position,), reason=reason)
    if request_id and done.repeated and wanted not in [fact.event for fact in done.facts]:
        raise request_id_conflict(request_id)
    return done


def step_request_id(by: Context, step: str = "") -> str | None:
    """The request id of one append of a request; its last append has no step."""
    if not by.request:
        return None
    return f"{by.request}.{step}" if step else by.request


def first_result(log: Log, by: Context) -> list[Fact] | None:
    """The facts that a request ended with when it was made before; None if it was not."""
    if not by.request:
        return None
    with log.file.reading() as reader:
        found = [fact_of(record) for record in reader.records_of_request(by.request)]
    return found or None


def name_request(log: Log, word: str, request_id: str, content: bytes) -> str:
    """The name of a request, from its id and its content; empty without an id.

    Raises:
        Conflict: the request id was used before, for other content.
    """
    if not request_id:
        return ""
    name = f"{word}:{request_id}:{hashlib.sha256(content).hexdigest()[:16]}"
    with log.file.reading() as reader:
        used = reader.request_ids(f"{word}:{request_id}:")
    if any(each != name and not each.startswith(f"{name}.") for each in used):
        raise request_id_conflict(request_id)
    return name


def prefixed_request_id(word: str, request_id: str | None) -> str | None:
    """The request id as stored in the log, with a prefix; None if the caller gave none."""
    return f"{word}-{request_id}" if request_id else None


def new_id_for(ids: Ids, prefix: str, by: Context) -> str:
    """A new id; a repeated request gets the same one."""
    if not by.request:
        return ids.new(prefix)
    return f"{prefix}-{hashlib.sha256(f'{prefix} {by.request}'.encode()).hexdigest()[:20]}"


def id_for_request(ids: Ids, prefix: str, request_id: str | None) -> str:
    """An id for what a request creates; a repeated request gets the same id."""
    return f"{prefix}-{request_id}" if request_id else ids.new(prefix)


def request_id_conflict(request_id: str) -> Conflict:
    """The error for a request id that was used for a different request."""
    return Conflict(
        f"request {request_id!r} was made before, for something else",
        hint="Use a new request id for a new request.",
    )


def _matches(wanted: object, recorded: object) -> bool:
    """Whether a fact's value matches the requested one; an empty request matches anything."""
    if isinstance(wanted, str):
        accepted = (
            wanted,
            wanted.strip(),
            " ".join(wanted.split()),
        )  # decisions may normalise spaces
        return not wanted.strip() or recorded in accepted
    return wanted is None or wanted == recorded
