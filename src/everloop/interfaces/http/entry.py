"""`everloop serve`: what the command line hands on to."""

import importlib
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any

from everloop.errors import Unavailable


def serve(asked: Namespace, annexes: Sequence[Callable[..., Any]] = ()) -> int:
    """Serve as the command line asks, with other doors inside, and give the exit code.

    Raises:
        Unavailable: the extra is not installed, or the port is taken.
    """
    try:
        server = importlib.import_module("everloop.interfaces.http.server")
    except ImportError as problem:
        raise Unavailable(
            f"the HTTP server is not installed: {problem}",
            hint="Install it: pip install 'everloop[serve]'",
        ) from problem
    code: int = server.serve(asked, annexes)
    return code
