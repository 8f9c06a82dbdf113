"""Serves a connection over two byte streams: standard input and output, or a socket."""

import os
from dataclasses import dataclass
from typing import BinaryIO

from everloop.interfaces.rpc.connection import Conversation
from everloop.interfaces.rpc.host import Host
from everloop.interfaces.rpc.lines import Readable, lines
from everloop.interfaces.rpc.shutdown import Leaving

STDOUT, STDERR = 1, 2


@dataclass(frozen=True, slots=True)
class Interruptible:
    """A stream whose blocking read is ended by a termination signal."""

    stream: Readable
    leaving: Leaving

    def readline(self, size: int = -1, /) -> bytes:
        """Read the next line, unless a signal arrives first."""
        with self.leaving.waiting():
            return self.stream.readline(size)


def converse(
    talk: Conversation[Host], questions: Readable, answers: BinaryIO, line_bytes_max: int
) -> None:
    """Answer each line until the input ends."""
    for line in lines(questions, line_bytes_max):
        answer = talk.answer(line)
        if answer is not None:
            answers.write(answer)
            answers.flush()


def own_output() -> BinaryIO:
    """Take over standard output for responses; other prints now go to standard error."""
    answers = os.fdopen(os.dup(STDOUT), "wb")
    os.dup2(STDERR, STDOUT)
    return answers
