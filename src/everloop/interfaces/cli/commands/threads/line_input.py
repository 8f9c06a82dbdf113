"""Reads messages of one or several lines. A real terminal has line editing and history.

The history comes from the conversation itself. It is not saved to a file, so that text purged from
the log remains nowhere else.
"""

import sys
from collections.abc import Iterable
from typing import TextIO

PROMPT = "> "
MORE = "… "
FENCE = '"""'


class LineReader:
    """Reads messages. A trailing backslash or a pair of fences makes a message span lines."""

    def __init__(self, stdin: TextIO, stdout: TextIO, history: Iterable[str] = ()) -> None:
        self._stdin, self._stdout = stdin, stdout
        self._edits = stdin is sys.stdin and stdin.isatty()
        if self._edits:
            import readline  # noqa: PLC0415 - loading it changes how `input` reads

            for text in history:
                readline.add_history(" ".join(text.split()))

    def read_message(self) -> str | None:
        """The next message; None at the end of input."""
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

    def confirm(self, question: str) -> bool:
        """Ask a yes/no question."""
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
