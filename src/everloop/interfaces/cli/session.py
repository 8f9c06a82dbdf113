"""The context of one command run: settings, engine, actor, output and confirmation.

The actor is decided here and by no option. Someone at a terminal is `user`. Without a terminal on
standard input, the command comes from a script or an agent's shell and is recorded as `agent:cli`:
an agent that can run commands must not be able to act as the user. `--yes` skips confirmation; it
does not change the actor.
"""

from argparse import Namespace
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from everloop.adapters import system_ports
from everloop.app import Engine
from everloop.errors import Invalid, Rejected, Unavailable
from everloop.interfaces.cli.output.json_document import encode_document
from everloop.interfaces.cli.output.screen import Screen
from everloop.interfaces.cli.output.stale_copy import draw_stale_copy_warning
from everloop.interfaces.cli.streams import Streams
from everloop.ports import Progress, SystemPorts
from everloop.settings import (
    HOME_VARIABLES,
    Settings,
    data_home,
    is_set_in_environment,
    load,
    program_search_path,
)

USER = "user"
SCRIPT_ACTOR = "agent:cli"
STDIN_ARGUMENT = "-"


class Session:
    """Settings, engine, actor and output of one command run."""

    def __init__(self, args: Namespace, streams: Streams) -> None:
        self.json: bool = args.json
        self.tenant: str = args.tenant
        self.stdin = streams.stdin
        self.stdout = streams.stdout
        self.program = streams.program
        self._yes: bool = args.yes
        self._home: str | None = args.home
        self._environment = streams.environment
        self._stderr = streams.stderr

    @cached_property
    def settings(self) -> Settings:
        """The effective settings."""
        return load(self._environment, home=self._home)

    @property
    def data_home(self) -> Path:
        """The data home, also if the settings in it are invalid."""
        return data_home(self._environment, home=self._home)

    @property
    def named_home(self) -> str | None:
        """The data home that the user named, by option or environment; None for the default."""
        named = any(is_set_in_environment(name, self._environment) for name in HOME_VARIABLES)
        return self.settings.home if self._home or named else None

    @property
    def search_path(self) -> str:
        """Where programs are looked for, as in `PATH`."""
        return program_search_path(self._environment)

    @cached_property
    def ports(self) -> SystemPorts:
        """Clock, ids and randomness of this machine."""
        return system_ports(self.settings.log.lock_wait_s)

    @property
    def actor(self) -> str:
        """Who runs the command: `user` at a terminal, else `agent:cli`."""
        return USER if self.stdin.isatty() else SCRIPT_ACTOR

    @property
    def now(self) -> datetime:
        """The current time."""
        return self.ports.clock.now()

    @cached_property
    def screen(self) -> Screen:
        """Standard output, formatted for people."""
        return Screen(self.stdout, self.program)

    @cached_property
    def error_screen(self) -> Screen:
        """Standard error, for questions and progress, so that they never mix with the output."""
        return Screen(self._stderr, self.program)

    def read_text(self, given: str) -> str:
        """The given text, or standard input if it is `-`.

        Raises:
            Invalid: the text is not UTF-8.
        """
        try:
            text = self.stdin.read() if given == STDIN_ARGUMENT else given
            text.encode()  # fails on bytes that the locale passed through undecoded
        except UnicodeError as problem:
            raise Invalid(
                "the text is not UTF-8",
                hint="Convert it first, for example: iconv -f LATIN1 -t UTF-8 FILE | everloop …",
            ) from problem
        return text

    def open_engine(self) -> Engine:
        """Open the engine of this data home and tenant."""
        return Engine.open(settings=self.settings, tenant=self.tenant, ports=self.ports)

    def open_for_reading(self) -> Engine:
        """Open the engine for reading, or a copy if the server is away or the disk read-only."""
        try:
            return self.open_engine()
        except Unavailable as reason:
            engine = Engine.open_copy(
                reason, settings=self.settings, tenant=self.tenant, ports=self.ports
            )
            draw_stale_copy_warning(self.error_screen, engine.log, self.now)
            if engine.log.stale_replica is None:
                self.error_screen.notes([f"Only reading: {reason}"])
            return engine

    def print_result(self, value: Any, draw: Callable[[Screen], None]) -> None:
        """Print the result: `value` as JSON with `--json`, else formatted by `draw`."""
        if self.json:
            self.stdout.write(encode_document(value))
        else:
            draw(self.screen)

    @property
    def interactive(self) -> bool:
        """Whether a person can be asked for confirmation."""
        return self.stdin.isatty() and not self.json and not self._yes

    def confirm(
        self, preview: Callable[[Screen], None], question: str, no: str = "No changes made."
    ) -> bool:
        """Ask for confirmation after a preview; `--yes` confirms without asking.

        `no` is printed if the person declines.

        Raises:
            Rejected: there is no terminal to ask at.
        """
        if self._yes:
            return True
        if self.json or not self.stdin.isatty():
            raise Rejected(
                f"this needs confirmation ({question}), but there is no terminal to ask at",
                hint="Pass --yes to confirm. Commands with --preview can show the changes first.",
            )
        preview(self.error_screen)
        self.error_screen.ask(f"{question} [y/N] ")
        if self.stdin.readline().strip().lower() in {"y", "yes"}:
            return True
        self.error_screen.paragraph(no)
        return False

    @contextmanager
    def progress(self, doing: str) -> Generator[Progress | None]:
        """Show a progress bar, if standard error is a terminal."""
        if self.json or not self._stderr.isatty():
            yield None
            return
        with self.error_screen.progress_bar(doing) as progress:
            yield progress
