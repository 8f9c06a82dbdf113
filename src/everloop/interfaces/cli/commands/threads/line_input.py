"""What a person types: a line, or several. At a real terminal, lines can be edited and found again.

Earlier lines come from the conversation itself. Nothing is written to a file of its own, so that
what is purged from the log is nowhere else.
"""

import importlib
import sys
from collections.abc import Iterable
from typing import TextIO

PROMPT = "> "
MORE = "… "
FENCE = '"""'


class Typist:
    """Reads messages. A line that ends in a backslash goes on; so does all between two fences."""

    def __init__(self, stdin: TextIO, stdout: TextIO, known: Iterable[str] = ()) -> None:
        self._stdin, self._stdout = stdin, stdout
        self._edits = stdin is sys.stdin and stdin.isatty()
        if self._edits:
            readline = importlib.import_module("readline")  # it takes hold of `input` when loaded
            for text in known:
                readline.add_history(" ".join(text.split()))

    def message(self) -> str | None:
        """The next message; None when there will be no more."""
        first = self._line(PROMPT)
        if first is None:
            return None
        if first.strip() == FENCE:
            return "\n".join(self._fenced())
        lines = [first]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            lines.append(self._line(MORE) or "")
        return "\n".join(lines)

    def agreed(self, question: str) -> bool:
        """Whether the answer to a question is yes."""
        return (self._line(f"{question} [y/N] ") or "").strip().lower() in {"y", "yes"}

    def _fenced(self) -> Iterable[str]:
        while (line := self._line(MORE)) is not None and line.strip() != FENCE:
            yield line

    def _line(self, prompt: str) -> str | None:
        if self._edits:
            try:
                return input(prompt)
            except EOFError:
                return None
        self._stdout.write(prompt)
        self._stdout.flush()
        line = self._stdin.readline()
        return line.removesuffix("\n") if line else None
