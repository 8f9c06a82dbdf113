"""Grants a new host (a program that connects over JSON-RPC or MCP) access to memories.

Without a grant a host sees nothing. A host that the owner has not decided about is granted access
once, by a fact that the owner can retract. A host that the owner has revoked stays revoked.

A command (`everloop rpc`, `mcp`, a hook) says itself which host it is, and any script can start it.
So its host is admitted only while nobody else has written to the log: later, the owner decides.

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
from everloop.memory.projections.queries import load_viewer, new_host_scopes
from everloop.settings import DoorSettings

EVERY_SCOPE = ("*",)
_WRITTEN_BY_OTHERS = "SELECT 1 FROM log WHERE actor NOT IN (?, ?) LIMIT 1"


def host_actor(name: str) -> str:
    """The actor name of a host: `agent:NAME`.

    Raises:
        Invalid: the name is malformed or reserved.
    """
    if not HOST_NAME_PATTERN.fullmatch(name):
        raise Invalid(
            f"{name!r} is not a valid host name",
            hint="Use up to 64 letters, digits, dots, hyphens and underscores."
            " `cli` and `capture` are reserved.",
        )
    return f"agent:{name}"


def admit_host(
    engine: Engine, actor: str, doors: DoorSettings, *, by_command: bool = False
) -> bool:
    """Grant access to a host that nobody has decided about; True if that happened now.

    `by_command`: nothing but the command that it was started with says which host it is.
    """
    with engine.reading() as reader:
        scopes = new_host_scopes(reader)
        is_new = by_command and scopes is None and not load_viewer(reader, actor).scopes
        others_wrote = is_new and bool(reader.rows(_WRITTEN_BY_OTHERS, (actor, ENGINE)))
    if scopes is None and doors.admit_hosts != "all":
        engine.do(GrantAudience(NEW_HOSTS, ()), by=Context(actor=ENGINE))
        return False
    if doors.admit_hosts != "all" or scopes == ():
        return False
    if others_wrote:
        return False
    receipt = engine.do(GrantAudience(actor, scopes or EVERY_SCOPE), by=Context(actor=ENGINE))
    return bool(receipt.facts)


def no_access_hint(engine: Engine, actor: str) -> str:
    """What the user can do for a host that sees nothing; empty if it has access."""
    with engine.reading() as reader:
        if load_viewer(reader, actor).scopes:
            return ""
    return (
        f"{actor} has no access until you allow it, at a terminal:"
        f" everloop grants allow {actor} '*'"
    )
