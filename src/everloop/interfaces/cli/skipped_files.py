"""Reports files and entries that were skipped, the same in every command that reads files."""

from collections.abc import Sequence

from everloop.errors import Rejected
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.exit_codes import EXIT_CODES
from everloop.interfaces.cli.output.screen import FAINT, NAME, WARNING, Screen
from everloop.lessons.capture import entries
from everloop.memory.markdown import folder

Troubles = Sequence[folder.Trouble] | Sequence[entries.Trouble]


def draw_troubles(
    screen: Screen, troubles: Troubles, *, each: str = "item", fate: str = "skipped"
) -> None:
    """Print what was skipped, why, and how to fix it."""
    if troubles:
        screen.say((f"{plural(len(troubles), each)} {fate}:", WARNING))
    for trouble in troubles:
        screen.say("  ", (trouble.name, NAME), f"  {trouble.problem}")
        screen.say((f"    {trouble.hint}", FAINT))


def code_of(troubles: Troubles) -> int | None:
    """The exit code of a command that skipped something."""
    return EXIT_CODES[Rejected] if troubles else None
