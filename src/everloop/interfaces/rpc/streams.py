"""Serves a connection over two byte streams: standard input and output, or a socket."""

import os
from dataclasses import dataclass
from typing import BinaryIO

from everloop.interfaces.rpc.connection import RpcConnection
from everloop.interfaces.rpc.host import RpcHost
from everloop.interfaces.rpc.lines import LineSource, read_lines
from everloop.interfaces.rpc.shutdown import ShutdownSignal

STDOUT, STDERR = 1, 2


@dataclass(frozen=True, slots=True)
class InterruptibleStream:
    """A stream whose blocking read is ended by a termination signal."""

    stream: LineSource
    leaving: ShutdownSignal

    def readline(self, size: int = -1, /) -> bytes:
        """Read the next line, unless a signal arrives first."""
        with self.leaving.interruptible_wait():
            return self.stream.readline(size)


def serve_lines(
    talk: RpcConnection[RpcHost], questions: LineSource, answers: BinaryIO, line_bytes_max: int
) -> None:
    """Answer each line until the input ends."""
    for line in read_lines(questions, line_bytes_max):
        answer = talk.respond(line)
        if answer is not None:
            answers.write(answer)
            answers.flush()


def own_output() -> BinaryIO:
    """Take over standard output for responses; other prints now go to standard error."""
    answers = os.fdopen(os.dup(STDOUT), "wb")
    os.dup2(STDERR, STDOUT)
    return answers
