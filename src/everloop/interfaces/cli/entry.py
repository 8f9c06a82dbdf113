"""From words to an exit code: parse, load the chosen command, carry it out, report what went wrong.

Only this file knows that errors become exit codes. With `--json` there is exactly one document on
standard output, whatever happens; otherwise an error is a message and a hint on standard error.
"""

import contextlib
import importlib
import os
from argparse import Namespace
from collections.abc import Mapping, Sequence
from types import ModuleType

from everloop.errors import EverloopError, Unavailable
from everloop.interfaces.cli.output.exit_codes import DONE, INTERRUPTED, exit_code
from everloop.interfaces.cli.parsing import parser
from everloop.interfaces.cli.streams import Streams

PACKAGE = "everloop.interfaces.cli"
NO_DOORS: Mapping[str, str] = {}


def run(words: Sequence[str], streams: Streams, doors: Mapping[str, str] = NO_DOORS) -> int:
    """Carry out one command. `doors` says which module serves a command that opens another door."""
    _survive_odd_characters(streams)
    try:
        return _carry_out(words, streams, doors)
    except EverloopError as problem:
        return _report(problem, words, streams)
    except BrokenPipeError:
        return _reader_left(streams)
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as problem:
        return _report(_outside(problem), words, streams)
    except Exception as problem:  # noqa: BLE001 - the outermost frame of this door
        return _report(_complaint().fault(problem, streams.stderr), words, streams)


def _carry_out(words: Sequence[str], streams: Streams, doors: Mapping[str, str]) -> int:
    with contextlib.redirect_stdout(streams.stdout):
        try:
            asked = parser.parse(words)
        except SystemExit:  # --help and --version say what they say and leave
            return DONE
    if asked.verb.opens_door:
        return _open(asked, doors)
    session = importlib.import_module(f"{PACKAGE}.session").Session(asked, streams)
    command = importlib.import_module(f"{PACKAGE}.commands.{asked.verb.module}")
    code: int | None = getattr(command, asked.verb.function)(session, asked)
    streams.stdout.flush()
    return code or DONE


def _open(asked: Namespace, doors: Mapping[str, str]) -> int:
    """Hand the process on to another door. This one knows its words and nothing else of it."""
    word = asked.verb.words[0]
    if word not in doors:
        raise Unavailable(f"there is no door {word!r} here", hint=f"Run `everloop {word}`.")
    code: int = importlib.import_module(doors[word]).serve(asked)
    return code


def _report(problem: EverloopError, words: Sequence[str], streams: Streams) -> int:
    if "--json" in words:
        streams.stdout.write(_complaint().as_json(problem))
    else:
        _complaint().show(problem, streams.stderr)
    return exit_code(problem)


def _complaint() -> ModuleType:
    """Loaded only when needed: most runs have nothing to report."""
    return importlib.import_module(f"{PACKAGE}.output.errors")


def _outside(problem: OSError) -> EverloopError:
    where = f"{problem.filename}: " if problem.filename else ""
    return Unavailable(
        f"{where}{problem.strerror or problem}", hint="See that it is there, yours, and has room."
    )


def _reader_left(streams: Streams) -> int:
    """Whoever read our output has seen enough, as with `| head`. Nothing more can be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), streams.stdout.fileno())
    return DONE


def _survive_odd_characters(streams: Streams) -> None:
    """A terminal that cannot show a character gets a question mark, not a crash."""
    for stream in (streams.stdout, streams.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
