"""Prints errors: a message and a hint for people, or a JSON document."""

import traceback
from typing import TextIO

from rich.console import Console
from rich.text import Text

from everloop.errors import Corrupt, EverloopError
from everloop.interfaces.cli.output.escape import escape_controls
from everloop.interfaces.cli.output.exit_codes import exit_code
from everloop.interfaces.cli.output.json_document import encode_document
from everloop.interfaces.cli.output.program_name import DEFAULT_PROGRAM, name_commands


def print_error(problem: EverloopError, stream: TextIO, program: str = DEFAULT_PROGRAM) -> None:
    """Print the message and the hint, with commands as the user started this one."""
    console = Console(file=stream, highlight=False, soft_wrap=True)
    console.print(Text.assemble(("error: ", "bold red"), escape_controls(str(problem))))
    if problem.hint:
        console.print(
            Text.assemble(
                ("hint:  ", "bold"), escape_controls(name_commands(problem.hint, program))
            )
        )


def internal_error(problem: Exception, stream: TextIO) -> EverloopError:
    """Turn an unexpected exception into an error, and print its traceback for a bug report."""
    stream.write(escape_controls("".join(traceback.format_exception(problem))))
    return Corrupt(
        f"internal error in Everloop: {type(problem).__name__}: {problem}",
        hint="No incomplete change was saved. Please report this with the traceback above.",
    )


def error_document(problem: EverloopError, program: str = DEFAULT_PROGRAM) -> str:
    """The error as a JSON document."""
    return encode_document(
        {
            "error": {
                "kind": type(problem).__name__,
                "message": str(problem),
                "hint": name_commands(problem.hint, program) if problem.hint else problem.hint,
                "exit_code": exit_code(problem),
            }
        }
    )
