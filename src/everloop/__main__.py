"""`python -m everloop`, and what the console command `everloop` calls."""

import sys
from collections.abc import Sequence

from everloop.interfaces.cli.entry import run
from everloop.interfaces.cli.streams import Streams


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    return run(words, Streams(sys.stdin, sys.stdout, sys.stderr))


if __name__ == "__main__":
    sys.exit(main())
