"""Regular expressions that are compiled when they are first used.

The time expressions of three languages take longer to compile than a search takes, and most
questions name no time: a command that answers one question must not pay for them.
"""

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from sys import maxsize
from typing import Any


class LazyPattern:
    """A pattern with the methods of `re.Pattern` that the parsers here need."""

    def __init__(self, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self.pattern = pattern
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    def search(self, text: str, start: int = 0, end: int = maxsize) -> re.Match[str] | None:
        """The first match anywhere in the text."""
        return self._compiled.search(text, start, end)

    def match(self, text: str, start: int = 0, end: int = maxsize) -> re.Match[str] | None:
        """The match at the start."""
        return self._compiled.match(text, start, end)

    def fullmatch(self, text: str, start: int = 0, end: int = maxsize) -> re.Match[str] | None:
        """The match of the whole text."""
        return self._compiled.fullmatch(text, start, end)

    def findall(self, text: str) -> list[Any]:
        """The text of every match, or the groups of every match."""
        return self._compiled.findall(text)

    def finditer(self, text: str, start: int = 0, end: int = maxsize) -> Iterator[re.Match[str]]:
        """Every match, in order."""
        return self._compiled.finditer(text, start, end)

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        """The text with every match replaced."""
        return self._compiled.sub(replacement, text)
