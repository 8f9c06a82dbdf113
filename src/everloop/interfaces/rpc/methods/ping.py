"""`ping`: whether the server responds, and its version."""

from typing import Any

import msgspec

from everloop import __version__
from everloop.interfaces.rpc.host import RpcHost


class Nothing(msgspec.Struct, frozen=True):
    """No parameters."""


def ping(host: RpcHost, asked: Nothing) -> dict[str, Any]:
    """Return the server's version."""
    del host, asked
    return {"ok": True, "version": __version__}
