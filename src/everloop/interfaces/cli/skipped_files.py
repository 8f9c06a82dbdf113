"""Reports files and entries that were skipped, the same in every command that reads files."""

from collections.abc import Sequence

from everloop.errors import Rejected
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.exit_codes import EXIT_CODES
from everloop.interfaces.cli.output.screen import DIM, NAME, WARNING, Screen
from everloop.lessons import CaptureProblem
from everloop.memory import PageProblem

SkippedFiles = Sequence[PageProblem] | Sequence[CaptureProblem]


def draw_skipped(
    screen: Screen, troubles: SkippedFiles, *, each: str = "item", fate: str = "skipped"
) -> None:
    """Print what was skipped, why, and how to fix it."""
    if troubles:
        screen.paragraph((f"{plural(len(troubles), each)} {fate}:", WARNING))
    for trouble in troubles:
        screen.paragraph("  ", (trouble.name, NAME), f"  {trouble.problem}")
        screen.paragraph((f"    {trouble.hint}", DIM))


def exit_code_of_skipped(troubles: SkippedFiles) -> int | None:
    """The exit code of a command that skipped something."""
    return EXIT_CODES[Rejected] if troubles else None
