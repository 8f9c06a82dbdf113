"""`ping`: whether the door is open, and which Everloop is behind it."""

from typing import Any

import msgspec

from everloop import __version__
from everloop.interfaces.rpc.host import Host


class Nothing(msgspec.Struct, frozen=True):
    """No parameters."""


def ping(host: Host, asked: Nothing) -> dict[str, Any]:
    """Say that the door is open."""
    del host, asked
    return {"ok": True, "version": __version__}
