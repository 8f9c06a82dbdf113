"""The console command `everloop`, also run by `python -m everloop`.

The command line parses the arguments; a command that starts another interface is passed on to it.
"""

# pyright: reportUnusedImport=false
import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from everloop.interfaces.cli.entry import run
from everloop.interfaces.cli.output.program_name import started_program
from everloop.interfaces.cli.streams import Streams

if TYPE_CHECKING:  # loaded by name when the command runs; listed here for the import linter
    import everloop.interfaces.mcp.entry
    import everloop.interfaces.rpc.entry
    import everloop.serve  # noqa: F401 - covers the whole block

PRIVATE_UMASK = 0o077
DOORS = {  # command to module, loaded on use; its `serve(args)` returns the exit code
    "mcp": "everloop.interfaces.mcp.entry",
    "rpc": "everloop.interfaces.rpc.entry",
    "serve": "everloop.serve",
}


COLLECT_AFTER = 100_000  # new objects; loading the modules of a command makes about half as many


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    os.umask(PRIVATE_UMASK)  # logs, backups and exports are for their owner alone
    words = sys.argv[1:] if argv is None else argv
    if argv is None:
        _start_fast(words)
    streams = Streams(sys.stdin, sys.stdout, sys.stderr, program=started_program())
    return run(words, streams, DOORS)


def _start_fast(words: Sequence[str]) -> None:
    """Tune the process for one short command: fewer garbage collections, one thread for numpy.

    One question is a small product of matrices, which threads make slower. A server keeps numpy's
    threads: it computes many embeddings at once.
    """
    gc.set_threshold(COLLECT_AFTER)
    if DOORS.keys().isdisjoint(words):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # noqa: TID251 - set for numpy


if __name__ == "__main__":
    sys.exit(main())
