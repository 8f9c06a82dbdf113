"""Spans around the main operations, for whoever watches them from outside; nobody by default.

A span has a name of ours and attributes that are numbers or names of ours: an operation, a model,
a route, the class of an error. Never text that somebody wrote, and no message of an error, which
may quote such text. Watchers are in `adapters/observability`; without one a span costs nothing.
"""

from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Protocol

Attribute = str | int | float | bool


class Span:
    """An operation that is under way."""

    def __init__(self, name: str, attributes: dict[str, Attribute]) -> None:
        self.name, self.attributes = name, attributes

    def set(self, **attributes: Attribute) -> None:
        """Add what became known meanwhile."""
        self.attributes.update(attributes)


class Watcher(Protocol):
    """Something that records spans."""

    def watch(self, span: Span) -> AbstractContextManager[None]:
        """A context that is open as long as the operation takes."""
        ...

    def note(self, span: Span, duration_s: float) -> None:
        """Record an operation that ended just now."""
        ...


_watchers: tuple[Watcher, ...] = ()


def add_watcher(watcher: Watcher) -> None:
    """Let a watcher record every span from now on, in all threads."""
    global _watchers
    _watchers = (*_watchers, watcher)


def remove_watcher(watcher: Watcher) -> None:
    """Let it record nothing more."""
    global _watchers
    _watchers = tuple(one for one in _watchers if one is not watcher)


class _Watched:
    """A span that is recorded."""

    def __init__(self, span: Span, watchers: tuple[Watcher, ...]) -> None:
        self._span, self._watchers, self._stack = span, watchers, ExitStack()

    def __enter__(self) -> Span:
        for watcher in self._watchers:
            self._stack.enter_context(watcher.watch(self._span))
        return self._span

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._span.set(error=kind.__name__)
        self._stack.close()


class _Unwatched(Span):
    """What is used while nobody watches."""

    def __enter__(self) -> Span:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing was recorded."""

    def set(self, **attributes: Attribute) -> None:
        """Forget it."""


_UNWATCHED = _Unwatched("", {})


def span(name: str, **attributes: Attribute) -> AbstractContextManager[Span]:
    """A context around an operation; an error that passes through is named by its class."""
    if not _watchers:
        return _UNWATCHED
    return _Watched(Span(name, attributes), _watchers)


def note_operation(name: str, duration_s: float, **attributes: Attribute) -> None:
    """Record an operation that ended just now and took this long."""
    for watcher in _watchers:
        watcher.note(Span(name, dict(attributes)), duration_s)
