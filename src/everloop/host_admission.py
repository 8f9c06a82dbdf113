"""Grants a new host (a program that connects over JSON-RPC or MCP) access to memories.

Without a grant a host sees nothing. A host that the owner has not decided about is granted access
once, by a fact that the owner can retract. A host that the owner has revoked stays revoked.

Whether new hosts are let in is in the log, where no other settings file can change it: a grant or
revocation of `agent:*` by the owner, or the first time that the settings said `granted`.
"""

from everloop.access.decide import HOST_NAME_PATTERN
from everloop.app import Engine
from everloop.errors import Invalid
from everloop.log import Context
from everloop.memory.model.commands import GrantAudience
from everloop.memory.model.decide import ENGINE
from everloop.memory.model.scopes import NEW_HOSTS
from everloop.memory.projections.queries import new_host_scopes
from everloop.settings import DoorSettings

EVERY_SCOPE = ("*",)


def host_actor(name: str) -> str:
    """The actor name of a host: `agent:NAME`.

    Raises:
        Invalid: the name is malformed or reserved.
    """
    if not HOST_NAME_PATTERN.fullmatch(name):
        raise Invalid(
            f"{name!r} is not a valid host name",
            hint="Use up to 64 letters, digits, dots, hyphens and underscores. `cli` is reserved.",
        )
    return f"agent:{name}"


def admit_host(engine: Engine, actor: str, doors: DoorSettings) -> bool:
    """Grant access to a host that nobody has decided about; True if that happened now."""
    with engine.reading() as reader:
        scopes = new_host_scopes(reader)
    if scopes is None and doors.admit_hosts != "all":
        engine.do(GrantAudience(NEW_HOSTS, ()), by=Context(actor=ENGINE))
        return False
    if doors.admit_hosts != "all" or scopes == ():
        return False
    receipt = engine.do(GrantAudience(actor, scopes or EVERY_SCOPE), by=Context(actor=ENGINE))
    return bool(receipt.facts)
