"""Regular expressions that are compiled when they are first used.

The time expressions of three languages take longer to compile than a search takes, and most
questions name no time: a command that answers one question must not pay for them.
"""

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

Find = Callable[..., re.Match[str] | None]  # of a text, and perhaps where to start and to end


class LazyPattern:
    """A pattern with the methods of `re.Pattern` that the parsers here need.

    Each is that of the compiled pattern itself, so a second use costs nothing more.
    """

    def __init__(self, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self.pattern = pattern
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    @cached_property
    def search(self) -> Find:
        """The first match anywhere in the text."""
        return self._compiled.search

    @cached_property
    def match(self) -> Find:
        """The match at the start."""
        return self._compiled.match

    @cached_property
    def fullmatch(self) -> Find:
        """The match of the whole text."""
        return self._compiled.fullmatch

    @cached_property
    def findall(self) -> Callable[[str], list[Any]]:
        """The text of every match, or the groups of every match."""
        return self._compiled.findall

    @cached_property
    def finditer(self) -> Callable[..., Iterator[re.Match[str]]]:
        """Every match, in order."""
        return self._compiled.finditer

    @cached_property
    def sub(self) -> Callable[[str | Callable[[re.Match[str]], str], str], str]:
        """The text with every match replaced."""
        return self._compiled.sub
