"""The entry point of the command line: parse, load and run a command, report errors.

Only this module maps errors to exit codes. With `--json`, standard output is exactly one document,
also when the command fails; otherwise an error is a message and a hint on standard error.
"""

# pyright: reportUnusedImport=false
import contextlib
import importlib
import os
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from everloop.errors import EverloopError, Unavailable
from everloop.interfaces.cli.output.exit_codes import DONE, INTERRUPTED, exit_code
from everloop.interfaces.cli.parsing import parser
from everloop.interfaces.cli.streams import Streams

if TYPE_CHECKING:  # loaded by name when the command runs; listed here for the import linter
    import everloop.interfaces.cli.commands.crew.browse
    import everloop.interfaces.cli.commands.crew.manifest
    import everloop.interfaces.cli.commands.crew.packs
    import everloop.interfaces.cli.commands.crew.write
    import everloop.interfaces.cli.commands.lessons.browse
    import everloop.interfaces.cli.commands.lessons.capture
    import everloop.interfaces.cli.commands.lessons.gate_rules
    import everloop.interfaces.cli.commands.lessons.import_loop_engine
    import everloop.interfaces.cli.commands.lessons.lifecycle
    import everloop.interfaces.cli.commands.lessons.write
    import everloop.interfaces.cli.commands.log.archive
    import everloop.interfaces.cli.commands.log.purge
    import everloop.interfaces.cli.commands.log.read
    import everloop.interfaces.cli.commands.log.sink
    import everloop.interfaces.cli.commands.log.write
    import everloop.interfaces.cli.commands.maintenance.backup
    import everloop.interfaces.cli.commands.maintenance.demo
    import everloop.interfaces.cli.commands.maintenance.doctor
    import everloop.interfaces.cli.commands.maintenance.tour
    import everloop.interfaces.cli.commands.maintenance.upgrade
    import everloop.interfaces.cli.commands.maintenance.verify
    import everloop.interfaces.cli.commands.memory.browse
    import everloop.interfaces.cli.commands.memory.explain
    import everloop.interfaces.cli.commands.memory.forget
    import everloop.interfaces.cli.commands.memory.grants
    import everloop.interfaces.cli.commands.memory.markdown_folder
    import everloop.interfaces.cli.commands.memory.recall
    import everloop.interfaces.cli.commands.memory.remember
    import everloop.interfaces.cli.commands.memory.revise
    import everloop.interfaces.cli.commands.server.devices
    import everloop.interfaces.cli.commands.server.hook
    import everloop.interfaces.cli.commands.server.hosts
    import everloop.interfaces.cli.commands.server.install
    import everloop.interfaces.cli.commands.server.models
    import everloop.interfaces.cli.commands.server.service
    import everloop.interfaces.cli.commands.server.telephone
    import everloop.interfaces.cli.commands.threads.browse
    import everloop.interfaces.cli.commands.threads.chat
    import everloop.interfaces.cli.commands.threads.transfer
    import everloop.interfaces.cli.commands.threads.usage
    import everloop.interfaces.cli.commands.workers.automation
    import everloop.interfaces.cli.commands.workers.inbox
    import everloop.interfaces.cli.commands.workers.push
    import everloop.interfaces.cli.commands.workers.tasks
    import everloop.interfaces.cli.commands.worlds.import_export
    import everloop.interfaces.cli.commands.worlds.play  # noqa: F401 - covers the whole block

COMMANDS_PACKAGE = "everloop.interfaces.cli.commands"
NO_SERVERS: Mapping[str, str] = {}


def run(words: Sequence[str], streams: Streams, doors: Mapping[str, str] = NO_SERVERS) -> int:
    """Run one command and return its exit code.

    `doors` maps each command that starts another interface to the module that serves it.
    """
    _replace_unencodable_characters(streams)
    try:
        return _run_command(words, streams, doors)
    except EverloopError as problem:
        return _report(problem, words, streams)
    except BrokenPipeError:
        return _discard_output(streams)
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as problem:
        return _report(_system_error(problem), words, streams)
    except Exception as problem:  # noqa: BLE001 - the outermost frame of this door
        return _report_fault(problem, words, streams)


def _run_command(words: Sequence[str], streams: Streams, doors: Mapping[str, str]) -> int:
    with contextlib.redirect_stdout(streams.stdout):
        try:
            args = parser.parse_arguments(words)
        except SystemExit:  # --help and --version print and exit
            return DONE
    if args.spec.starts_server:
        return _serve(args, doors)
    from everloop.interfaces.cli.session import Session  # noqa: PLC0415 - keeps --help fast

    session = Session(args, streams)
    command = importlib.import_module(f"{COMMANDS_PACKAGE}.{args.spec.module}")
    code: int | None = getattr(command, args.spec.function)(session, args)
    streams.stdout.flush()
    return code or DONE


def _serve(args: Namespace, doors: Mapping[str, str]) -> int:
    """Start another interface, of which this one knows only the command."""
    word = args.spec.words[0]
    if word not in doors:
        raise Unavailable(
            f"{word!r} is not available from this program", hint=f"Run `everloop {word}`."
        )
    code: int = importlib.import_module(doors[word]).serve(args)
    return code


def _report(problem: EverloopError, words: Sequence[str], streams: Streams) -> int:
    from everloop.interfaces.cli.output import errors  # noqa: PLC0415 - most runs have no error

    if "--json" in words:
        streams.stdout.write(errors.error_document(problem, streams.program))
    else:
        errors.print_error(problem, streams.stderr, streams.program)
    return exit_code(problem)


def _report_fault(problem: Exception, words: Sequence[str], streams: Streams) -> int:
    from everloop.interfaces.cli.output import errors  # noqa: PLC0415 - most runs have no error

    return _report(errors.internal_error(problem, streams.stderr), words, streams)


def _system_error(problem: OSError) -> EverloopError:
    where = f"{problem.filename}: " if problem.filename else ""
    return Unavailable(
        f"{where}{problem.strerror or problem}",
        hint="Check that the path exists, that you may access it, and that the disk is not full.",
    )


def _discard_output(streams: Streams) -> int:
    """Send all further output to the null device: the reader closed the pipe, as `head` does."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), streams.stdout.fileno())
    return DONE


def _replace_unencodable_characters(streams: Streams) -> None:
    """Print a question mark for a character that the terminal cannot encode, instead of failing."""
    for stream in (streams.stdout, streams.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
