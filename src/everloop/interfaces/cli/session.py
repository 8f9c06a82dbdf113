"""One run of a command: its settings, its engine, who speaks, and how it answers and asks.

Who speaks is decided here and by no option. Someone at a terminal is `user`. Without a terminal on
standard input, the words come from a script or an agent's shell, and are recorded as `agent:cli`:
an agent that can run commands must not be able to speak as the user. `--yes` answers questions; it
does not change who speaks.
"""

from argparse import Namespace
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from typing import Any

from everloop.adapters.system import system_world
from everloop.app import Engine
from everloop.errors import Invalid, Rejected, Unavailable
from everloop.interfaces.cli.output.json_document import document
from everloop.interfaces.cli.output.screen import Screen
from everloop.interfaces.cli.output.stale_copy import draw_behind
from everloop.interfaces.cli.streams import Streams
from everloop.ports import Progress, World
from everloop.settings import Settings, load

USER = "user"
NOBODY_AT_THE_TERMINAL = "agent:cli"
ON_STANDARD_INPUT = "-"


class Session:
    """What a command is given to work with."""

    def __init__(self, args: Namespace, streams: Streams) -> None:
        self.json: bool = args.json
        self.tenant: str = args.tenant
        self.stdin = streams.stdin
        self.stdout = streams.stdout
        self._yes: bool = args.yes
        self._home: str | None = args.home
        self._environment = streams.environment
        self._stderr = streams.stderr

    @cached_property
    def settings(self) -> Settings:
        """The settings in force."""
        return load(self._environment, home=self._home)

    @cached_property
    def world(self) -> World:
        """This machine."""
        return system_world(self.settings.log.lock_wait_s)

    @property
    def actor(self) -> str:
        """Who speaks."""
        return USER if self.stdin.isatty() else NOBODY_AT_THE_TERMINAL

    @property
    def now(self) -> datetime:
        """This moment, to say how old things are."""
        return self.world.clock.now()

    @cached_property
    def screen(self) -> Screen:
        """Where answers for people go."""
        return Screen(self.stdout)

    @cached_property
    def aside(self) -> Screen:
        """Where questions and progress go, so that they never mix with an answer."""
        return Screen(self._stderr)

    def said(self, given: str) -> str:
        """The words that were given; for `-`, those on standard input.

        Raises:
            Invalid: they are not UTF-8.
        """
        try:
            text = self.stdin.read() if given == ON_STANDARD_INPUT else given
            text.encode()  # what a terminal or a locale let through unread fails here
        except UnicodeError as problem:
            raise Invalid(
                "the text is not UTF-8",
                hint="Convert it first, such as: iconv -f LATIN1 -t UTF-8 FILE | everloop …",
            ) from problem
        return text

    def engine(self) -> Engine:
        """The engine of this data home and tenant."""
        return Engine.open(settings=self.settings, tenant=self.tenant, world=self.world)

    def looking(self) -> Engine:
        """The engine for a command that only reads: while the server is away, the copy will do."""
        try:
            return self.engine()
        except Unavailable as reason:
            engine = Engine.open_copy(
                reason, settings=self.settings, tenant=self.tenant, world=self.world
            )
            draw_behind(self.aside, engine.log, self.now)
            return engine

    def answer(self, value: Any, draw: Callable[[Screen], None]) -> None:
        """Give the answer: `value` as JSON to machines, drawn to people."""
        if self.json:
            self.stdout.write(document(value))
        else:
            draw(self.screen)

    @property
    def asks(self) -> bool:
        """Whether somebody is here to be asked, and wants to be."""
        return self.stdin.isatty() and not self.json and not self._yes

    def agreed(
        self, preview: Callable[[Screen], None], question: str, no: str = "Nothing was changed."
    ) -> bool:
        """Whether to go ahead: after a preview and a question, or because of `--yes`.

        `no` is what is said to whoever does not want to.

        Raises:
            Rejected: there is nobody to ask.
        """
        if self._yes:
            return True
        if self.json or not self.stdin.isatty():
            raise Rejected(
                f"this asks first ({question}), and nobody is here to answer",
                hint="Look at it with --preview where there is one; go ahead with --yes.",
            )
        preview(self.aside)
        self.aside.ask(f"{question} [y/N] ")
        if self.stdin.readline().strip().lower() in {"y", "yes"}:
            return True
        self.aside.say(no)
        return False

    @contextmanager
    def progress(self, doing: str) -> Generator[Progress | None]:
        """A bar on the terminal while something takes long; nothing where there is none."""
        if self.json or not self._stderr.isatty():
            yield None
            return
        with self.aside.bar(doing) as progress:
            yield progress
