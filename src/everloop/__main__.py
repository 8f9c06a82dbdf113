"""`python -m everloop`, and what the console command `everloop` calls.

The command line reads the words; a command that opens another door is handed on to it.
"""

import sys
from collections.abc import Sequence

from everloop.interfaces.cli.entry import run
from everloop.interfaces.cli.streams import Streams

DOORS = {  # command to module, loaded when chosen; its `serve(asked)` gives the exit code
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
