"""Who comes in through a door that a program knocks on.

A host that nobody let in would see nothing. One that nobody has decided about yet is admitted once,
by a fact that the owner can take back. Whom the owner shut out stays out.
"""

from everloop.access.decide import HOST_NAME
from everloop.app import Engine
from everloop.errors import Invalid
from everloop.log import Context
from everloop.memory.model.commands import GrantAudience
from everloop.memory.model.decide import ENGINE
from everloop.settings import DoorSettings

EVERYTHING = ("*",)


def host_of(name: str) -> str:
    """The actor that a host's name stands for.

    Raises:
        Invalid: it is no name.
    """
    if not HOST_NAME.fullmatch(name):
        raise Invalid(
            f"{name!r} is not a host's name",
            hint="Use up to 64 letters, digits, dots, hyphens and underscores; not `cli`.",
        )
    return f"agent:{name}"


def admit(engine: Engine, actor: str, doors: DoorSettings) -> bool:
    """Let a host in about whom nobody has decided; whether that happened now."""
    if doors.admit_hosts != "all":
        return False
    receipt = engine.do(GrantAudience(actor, EVERYTHING), by=Context(actor=ENGINE))
    return bool(receipt.facts)
