"""The command line, run in this process with its own streams and environment."""

import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from everloop.interfaces.cli.entry import run
from everloop.interfaces.cli.streams import Streams


class Answer(NamedTuple):
    """The exit code and output of one command."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)


class Terminal(io.StringIO):
    """A stream with a person at the other end."""

    def isatty(self) -> bool:
        """Yes."""
        return True


class Impatient(io.StringIO):
    """A reader that closes the pipe after some lines, as `head` does."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self._lines = lines

    def flush(self) -> None:
        """Fail like a closed pipe."""
        if self.getvalue().count("\n") >= self._lines:
            raise BrokenPipeError


@dataclass
class CommandLine:
    """Runs commands in one data home."""

    home: Path
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def __call__(self, *words: str, piped: str = "") -> Answer:
        """Run a command as a script does, without a terminal."""
        return self.run(words, io.StringIO(piped))

    def typed(self, *words: str, answers: str = "") -> Answer:
        """Run a command at a terminal; `answers` are typed at questions."""
        return self.run(words, Terminal(answers), err=Terminal())

    def read_lines(self, lines: int, *words: str) -> Answer:
        """Run a command at a terminal whose output is read only for some lines."""
        return self.run(words, Terminal(), out=Impatient(lines))

    def run(
        self,
        words: tuple[str, ...],
        stdin: io.StringIO,
        *,
        out: io.StringIO | None = None,
        err: io.StringIO | None = None,
    ) -> Answer:
        """Run a command on these streams."""
        out, err = out or io.StringIO(), err or io.StringIO()
        environment = {"EVERLOOP_HOME": str(self.home), **self.environment}
        code = run(words, Streams(stdin, out, err, environment))
        return Answer(code, out.getvalue(), err.getvalue())
