"""What is said when a request fails: what happened, and what to do next."""

import traceback
from typing import TextIO

from rich.console import Console
from rich.text import Text

from everloop.errors import Corrupt, EverloopError
from everloop.interfaces.cli.output.escape import inert
from everloop.interfaces.cli.output.exit_codes import exit_code
from everloop.interfaces.cli.output.json_document import document


def show(problem: EverloopError, stream: TextIO) -> None:
    """Message and hint, for a person."""
    console = Console(file=stream, highlight=False, soft_wrap=True)
    console.print(Text.assemble(("error: ", "bold red"), inert(str(problem))))
    if problem.hint:
        console.print(Text.assemble(("hint:  ", "bold"), inert(problem.hint)))


def fault(problem: Exception, stream: TextIO) -> EverloopError:
    """A fault of ours: where it happened, for whoever mends it, and what to tell the person."""
    stream.write(inert("".join(traceback.format_exception(problem))))
    return Corrupt(
        f"this is a fault in Everloop: {type(problem).__name__}: {problem}",
        hint="Nothing half-done was kept. Please report it with the lines above.",
    )


def as_json(problem: EverloopError) -> str:
    """The same as a document."""
    return document(
        {
            "error": {
                "kind": type(problem).__name__,
                "message": str(problem),
                "hint": problem.hint,
                "exit_code": exit_code(problem),
            }
        }
    )
