"""The parser, built from the rows of `verbs.py`.

The options every command shares may stand before or after the command's words. A mistake is raised
as `Invalid`, so it is reported like any other error, as JSON too.
"""

import importlib
from argparse import SUPPRESS, Action, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from typing import Any, NoReturn

from everloop import __version__
from everloop.errors import Invalid
from everloop.interfaces.cli.parsing.verb import Verb
from everloop.interfaces.cli.parsing.verbs import GROUPS, VERBS

DESCRIPTION = """\
Everloop: a local-first home for long-lived AI, on one append-only log that you own.
"""
EPILOG = """\
`everloop COMMAND --help` says more about each. `everloop tour` shows an engine at work.
"""
NAME_WIDTH = 19
COMMAND = "COMMAND"
VALUED = ("--home", "--tenant")  # options before a command that take the next word


class Parser(ArgumentParser):
    """An argument parser that raises instead of exiting."""

    def _check_value(self, action: Action, value: Any) -> None:
        if action.dest == COMMAND and action.choices is not None and value not in action.choices:
            difflib = importlib.import_module("difflib")  # only a mistake needs it
            near = difflib.get_close_matches(value, list(action.choices), n=1)
            meant = f"Did you mean `{self.prog} {near[0]}`? " if near else ""
            raise Invalid(
                f"{value!r} is not a command", hint=f"{meant}`{self.prog} --help` lists them."
            )
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        """A mistake in the arguments.

        Raises:
            Invalid: always.
        """
        raise Invalid(message, hint=f"`{self.prog} --help` shows how it is used.")


def parser(only: str | None = None) -> Parser:
    """The parser for the whole command line, or for the commands that begin with one word."""
    top = Parser(
        prog="everloop",
        usage="everloop [options] COMMAND",
        description=f"{DESCRIPTION}\n{_overview()}",
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"everloop {__version__}")
    _share(top)
    top.set_defaults(home=None, tenant="local", json=False, yes=False, verb=None)
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
        _share(group)
        groups[word] = group.add_subparsers(dest=COMMAND, metavar=COMMAND, help=SUPPRESS)
        if alone := next((verb for verb in VERBS if verb.words == (word,)), None):
            alone.arguments(group)  # a group's own word may be a command too
            group.set_defaults(verb=alone)
            group.usage = f"everloop {word} [COMMAND] [options]"
    for verb in VERBS:
        first, *rest = verb.words
        if only not in (None, first):
            continue
        if rest:
            add_verb(groups[first], verb)
        elif first not in groups:
            add_verb(commands, verb)
    return top


def add_verb(commands: Any, verb: Verb) -> Parser:
    """Add one command to a parser's commands."""
    made: Parser = commands.add_parser(
        verb.words[-1],
        prog=f"everloop {' '.join(verb.words)}",
        description=_sentence(verb.summary),
        epilog=verb.notes or None,
        allow_abbrev=False,
    )
    verb.arguments(made)
    _share(made)
    made.set_defaults(verb=verb)
    return made


def parse(words: Sequence[str]) -> Namespace:
    """What was asked; its `verb` is the chosen row.

    Raises:
        Invalid: the words make no command.
    """
    asked = parser(_first(words)).parse_args(words)
    if asked.verb is None:
        raise Invalid("which command?", hint="`everloop --help` lists them.")
    return asked


def _first(words: Sequence[str]) -> str | None:
    """The word that a command begins with, if it is one; then no other has to be prepared."""
    rest = iter(words)
    for word in rest:
        if word in VALUED:
            next(rest, None)
        elif not word.startswith("-"):
            return word if any(verb.words[0] == word for verb in VERBS) else None
    return None


def _share(target: ArgumentParser) -> None:
    """Add the options every command has. Suppressed defaults let them stand on either side."""
    shared = target.add_argument_group("options of every command")
    shared.add_argument("--home", default=SUPPRESS, metavar="FOLDER", help="the data home")
    shared.add_argument("--tenant", default=SUPPRESS, metavar="NAME", help="whose log")
    shared.add_argument(
        "--json", action="store_true", default=SUPPRESS, help="answer with one JSON document"
    )
    shared.add_argument(
        "--yes", action="store_true", default=SUPPRESS, help="go ahead without asking"
    )


def _overview(group: str | None = None) -> str:
    rows = [
        (" ".join(verb.words[1:] if group else verb.words) or "(alone)", verb.summary)
        for verb in VERBS
        if group is None or verb.words[0] == group
    ]
    return "commands:\n" + "\n".join(f"  {name:<{NAME_WIDTH}}{summary}" for name, summary in rows)


def _sentence(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}."
