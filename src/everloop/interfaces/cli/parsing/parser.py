"""The argument parser, built from the table of commands.

Global options may come before or after the command. A usage error is raised as `Invalid`, so it is
reported like every other error, also as JSON.
"""

from argparse import SUPPRESS, Action, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from typing import Any, NoReturn

from everloop import __version__
from everloop.errors import Invalid
from everloop.interfaces.cli.parsing.command_spec import CommandSpec
from everloop.interfaces.cli.parsing.command_table import COMMANDS, GROUPS

DESCRIPTION = """\
Everloop: a local-first home for long-lived AI, on one append-only log that you own.
"""
EPILOG = """\
Run `everloop COMMAND --help` for details, or `everloop tour` for an introduction.
"""
NAME_WIDTH = 19
COMMAND = "COMMAND"
VALUED = ("--home", "--tenant")  # global options that take the next word as value


class Parser(ArgumentParser):
    """An argument parser that raises instead of exiting."""

    def _check_value(self, action: Action, value: Any) -> None:
        if action.dest == COMMAND and action.choices is not None and value not in action.choices:
            from difflib import get_close_matches  # noqa: PLC0415 - slow to load, rarely needed

            similar = get_close_matches(value, list(action.choices), n=1)
            suggestion = f"Did you mean `{self.prog} {similar[0]}`? " if similar else ""
            raise Invalid(
                f"unknown command {value!r}",
                hint=f"{suggestion}Run `{self.prog} --help` for a list of commands.",
            )
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        """Raise a usage error.

        Raises:
            Invalid: always.
        """
        raise Invalid(message, hint=f"Run `{self.prog} --help` for usage.")


def build_parser(only: str | None = None) -> Parser:
    """Build the parser of the whole command line, or of the commands that start with one word."""
    top = Parser(
        prog="everloop",
        usage="everloop [options] COMMAND",
        description=f"{DESCRIPTION}\n{_overview()}",
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument(
        "--version",
        action="version",
        version=f"everloop {__version__}",
        help="show the version and exit",
    )
    _add_global_options(top)
    top.set_defaults(home=None, tenant="local", json=False, yes=False, spec=None)
    commands = top.add_subparsers(dest=COMMAND, metavar=COMMAND, help=SUPPRESS)
    groups: dict[str, Any] = {}
    for word, summary in GROUPS.items():
        if only not in (None, word):
            continue
        group = commands.add_parser(
            word,
            prog=f"everloop {word}",
            usage=f"everloop {word} COMMAND",
            description=f"{_sentence(summary)}\n\n{_overview(word)}",
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        _add_global_options(group)
        groups[word] = group.add_subparsers(dest=COMMAND, metavar=COMMAND, help=SUPPRESS)
        if alone := next((spec for spec in COMMANDS if spec.words == (word,)), None):
            alone.arguments(group)  # the word of a group may also be a command
            group.set_defaults(spec=alone)
            group.usage = f"everloop {word} [COMMAND] [options]"
    for spec in COMMANDS:
        first, *rest = spec.words
        if only not in (None, first):
            continue
        if rest:
            _add_command(groups[first], spec)
        elif first not in groups:
            _add_command(commands, spec)
    return top


def parse_arguments(words: Sequence[str]) -> Namespace:
    """Parse a command line; `spec` of the result is the chosen command.

    Raises:
        Invalid: no such command, or wrong arguments.
    """
    first = _first_word(words)
    args, unknown = build_parser(first).parse_known_args(words)
    if args.spec is None:
        program = " ".join(("everloop", first) if first else ("everloop",))
        raise Invalid("no command given", hint=f"Run `{program} --help` for a list of commands.")
    if unknown:
        raise Invalid(
            f"unrecognized arguments: {' '.join(unknown)}",
            hint=f"Run `everloop {' '.join(args.spec.words)} --help` for usage.",
        )
    return args


def _add_command(commands: Any, spec: CommandSpec) -> Parser:
    """Add the parser of one command."""
    made: Parser = commands.add_parser(
        spec.words[-1],
        prog=f"everloop {' '.join(spec.words)}",
        description=_sentence(spec.summary),
        epilog=spec.notes or None,
        allow_abbrev=False,
    )
    spec.arguments(made)
    _add_global_options(made)
    made.set_defaults(spec=spec)
    return made


def _first_word(words: Sequence[str]) -> str | None:
    """The first word of a known command; then only the commands that start with it are built."""
    rest = iter(words)
    for word in rest:
        if word in VALUED:
            next(rest, None)
        elif not word.startswith("-"):
            return word if any(spec.words[0] == word for spec in COMMANDS) else None
    return None


def _add_global_options(target: ArgumentParser) -> None:
    """Add the options of every command; without defaults, so that they work in either place."""
    shared = target.add_argument_group("global options")
    shared.add_argument("--home", default=SUPPRESS, metavar="FOLDER", help="data home")
    shared.add_argument(
        "--tenant", default=SUPPRESS, metavar="NAME", help="tenant whose log to use"
    )
    shared.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON")
    shared.add_argument(
        "--yes", action="store_true", default=SUPPRESS, help="do not ask for confirmation"
    )


def _overview(group: str | None = None) -> str:
    rows = [
        (" ".join(spec.words[1:] if group else spec.words) or "(no command)", spec.summary)
        for spec in COMMANDS
        if group is None or spec.words[0] == group
    ]
    return "commands:\n" + "\n".join(f"  {name:<{NAME_WIDTH}}{summary}" for name, summary in rows)


def _sentence(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}."
