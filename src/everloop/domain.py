"""A domain of the engine in one record: its commands, views and reactions.

A new domain is one more record in `app.DOMAINS`. Its settings are a section of `Settings`, and its
background tasks are listed in `services.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from everloop.log import Command, Decider, Event, Fact, Projection, Reader


@dataclass(frozen=True, slots=True)
class Policy:
    """When an event was recorded, carry out the commands that `find` gives.

    `find` asks the views what the log lacks, so that asking again is harmless. `elsewhere`: the
    command concerns another tree than the fact, and goes to the current branch there.
    """

    name: str
    event: type[Event]
    command: type[Command]
    find: Callable[[Reader, Fact], Sequence[Command]]
    elsewhere: bool = False


Deciders = tuple[Decider[Any, Any], ...]


def _none(_: Any) -> Deciders:
    return ()


@dataclass(frozen=True, slots=True)
class Domain:
    """What the engine needs to know of a domain.

    `configured` gives the deciders whose rules can be set, from the section of the settings that
    has the domain's name.
    """

    name: str
    deciders: Deciders = ()
    projections: tuple[type[Projection], ...] = ()
    policies: tuple[Policy, ...] = ()
    configured: Callable[[Any], Deciders] = _none
