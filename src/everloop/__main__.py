"""The console command `everloop`, also run by `python -m everloop`.

The command line parses the arguments; a command that starts another interface is passed on to it.
"""

# pyright: reportUnusedImport=false
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from everloop.interfaces.cli.entry import run
from everloop.interfaces.cli.streams import Streams

if TYPE_CHECKING:  # loaded by name when the command runs; listed here for the import linter
    import everloop.interfaces.mcp.entry
    import everloop.interfaces.rpc.entry
    import everloop.serve  # noqa: F401 - covers the whole block

DOORS = {  # command to module, loaded on use; its `serve(args)` returns the exit code
    "mcp": "everloop.interfaces.mcp.entry",
    "rpc": "everloop.interfaces.rpc.entry",
    "serve": "everloop.serve",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    return run(words, Streams(sys.stdin, sys.stdout, sys.stderr), DOORS)


if __name__ == "__main__":
    sys.exit(main())
