"""A conversation over two streams of bytes: standard input and output, or a socket's two ends."""

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
    """A stream on which a signal ends the wait for the next line."""

    stream: Readable
    leaving: Leaving

    def readline(self, size: int = -1, /) -> bytes:
        """The next line, unless a signal comes first."""
        with self.leaving.waiting():
            return self.stream.readline(size)


def converse(
    talk: Conversation[Host], questions: Readable, answers: BinaryIO, line_bytes_max: int
) -> None:
    """Answer every line until there are no more, or nobody listens."""
    for line in lines(questions, line_bytes_max):
        answer = talk.answer(line)
        if answer is not None:
            answers.write(answer)
            answers.flush()


def own_output() -> BinaryIO:
    """Standard output, for answers alone: whatever else prints now prints to standard error."""
    answers = os.fdopen(os.dup(STDOUT), "wb")
    os.dup2(STDERR, STDOUT)
    return answers
