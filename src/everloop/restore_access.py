"""Who is signed in and trusted in a log, so that restoring a backup gives back no more than that.

A backup is older than what was revoked since. Without this, restoring one would sign a lost phone
in again, and trust a host that the user no longer trusts.
"""

import msgspec

from everloop.access.commands import RemovePasskey, RevokeDevice
from everloop.access.pairing import load_access
from everloop.app import Engine
from everloop.log import Context


class Trusted(msgspec.Struct, frozen=True):
    """The devices, passkeys and hosts that count in a log."""

    devices: frozenset[str]
    passkeys: frozenset[str]
    hosts: frozenset[str]


NOBODY = Trusted(frozenset(), frozenset(), frozenset())


def trusted_now(engine: Engine) -> Trusted:
    """The devices, passkeys and hosts that count in a log now."""
    access = load_access(engine.log)
    hosts = frozenset(host.host for host in engine.lessons.hosts() if host.trusted)
    return Trusted(frozenset(access.devices), frozenset(access.passkeys), hosts)


def revoke_what_returned(engine: Engine, before: Trusted, *, by: Context) -> None:
    """Revoke in a restored log what did not count in the log that it replaced."""
    now = trusted_now(engine)
    for device in sorted(now.devices - before.devices):
        engine.do(RevokeDevice(device), by=by)
    for passkey in sorted(now.passkeys - before.passkeys):
        engine.do(RemovePasskey(passkey), by=by)
    for host in sorted(now.hosts - before.hosts):
        engine.lessons.distrust(host, by=by)
