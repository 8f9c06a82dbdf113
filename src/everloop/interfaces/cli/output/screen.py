"""Prints styled text, tables and progress bars. Control characters in text are escaped here."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from everloop.interfaces.cli.output.escape import escape_controls
from everloop.interfaces.cli.output.program_name import DEFAULT_PROGRAM, name_commands
from everloop.ports import Progress

WIDTH_WITHOUT_TERMINAL = 120
WIDE = 100

DIM = "dim"
BOLD = "bold"
NAME = "cyan"
GOOD = "green"
WARNING = "yellow"
BAD = "red"

Cell = str | Text


class _Console(Console):
    """A console that raises when the reader has closed the pipe, instead of exiting."""

    def on_broken_pipe(self) -> None:
        """Raise instead of exiting."""
        raise BrokenPipeError


class Screen:
    """Formatted output on one stream."""

    def __init__(self, stream: TextIO, program: str = DEFAULT_PROGRAM) -> None:
        self._program = program
        width = None if stream.isatty() else WIDTH_WITHOUT_TERMINAL
        self._console = _Console(file=stream, width=width, highlight=False, emoji=False)

    @property
    def wide(self) -> bool:
        """Whether the terminal is wide enough for tables with many columns."""
        return self._console.width >= WIDE

    def paragraph(self, *parts: str | tuple[str, str]) -> None:
        """Print a paragraph; a part may be a pair of text and style."""
        self._console.print(styled_text(*parts))

    def advice(self, *parts: str | tuple[str, str]) -> None:
        """Print a paragraph of ours that names commands, written as the user started this one."""
        self.paragraph(
            *(
                name_commands(part, self._program)
                if isinstance(part, str)
                else (name_commands(part[0], self._program), part[1])
                for part in parts
            )
        )

    def next_step(self, text: str) -> str:
        """A text of ours with its commands written as the user started this one."""
        return name_commands(text, self._program)

    def line(self, text: Text) -> None:
        """Print one line, cut to the terminal width."""
        self._console.print(text, no_wrap=True, overflow="ellipsis")

    def blank_line(self) -> None:
        """Print an empty line."""
        self._console.print()

    def draw(self, thing: RenderableType) -> None:
        """Print a rich renderable, whose text must already be escaped."""
        self._console.print(thing)

    def table(
        self, headings: Sequence[str], rows: Iterable[Sequence[Cell]], *, cut: bool = False
    ) -> None:
        """Print a table. The last column takes the remaining width; with `cut` it is truncated."""
        drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=DIM)
        drawn.show_header = any(headings)
        drawn.expand = cut
        for heading in headings[:-1]:
            number = heading.startswith("#")
            drawn.add_column(
                heading.removeprefix("#"),
                justify="right" if number else "left",
                no_wrap=True,
                overflow="ellipsis",
            )
        drawn.add_column(
            headings[-1],
            ratio=1 if cut else None,
            no_wrap=cut,
            overflow="ellipsis" if cut else "fold",
        )
        for row in rows:
            drawn.add_row(
                *(text if isinstance(text, Text) else Text(escape_controls(text)) for text in row)
            )
        self._console.print(drawn)

    def fields(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Print labelled values; empty ones are left out."""
        self.table(
            ("", ""), [(styled_text((label, DIM)), value) for label, value in pairs if value]
        )

    def notes(self, notes: Iterable[str]) -> None:
        """Print remarks below a result."""
        for note in notes:
            self.advice((note, DIM))

    def ask(self, question: str) -> None:
        """Print a question without a line break."""
        self._console.print(styled_text((question, BOLD)), end="")

    @contextmanager
    def progress_bar(self, doing: str) -> Generator[Progress]:
        """Show a progress bar that disappears when the work is done."""
        from rich.progress import (  # noqa: PLC0415 - most commands show none
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bar  # noqa: PLC0415

        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=40),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Bar(*columns, console=self._console, transient=True) as bar:
            task = bar.add_task(doing, total=None)

            def advance(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)

            yield advance


def styled_text(*parts: str | tuple[str, str]) -> Text:
    """Build escaped text from plain parts and pairs of text and style."""
    return Text.assemble(
        *(
            escape_controls(part) if isinstance(part, str) else (escape_controls(part[0]), part[1])
            for part in parts
        )
    )
