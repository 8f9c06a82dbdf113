"""Entry point of `everloop serve` into the HTTP server, which is an optional install."""

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from everloop.errors import Unavailable

if TYPE_CHECKING:
    from everloop.interfaces.http.server import MountFactory


def serve(asked: Namespace, annexes: "Sequence[MountFactory]" = ()) -> int:
    """Run the HTTP server with mounted applications until it ends, and return the exit code.

    Raises:
        Unavailable: the `serve` extra is not installed, or the port is in use.
    """
    try:
        from everloop.interfaces.http import server  # noqa: PLC0415 - needs the `serve` extra
    except ImportError as problem:
        raise Unavailable(
            f"the HTTP server is not installed: {problem}",
            hint="Install it: pip install 'everloop[serve]'",
        ) from problem
    return server.serve(asked, annexes)
