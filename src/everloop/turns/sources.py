"""Turns of several domains under one scheduler: one process runs them all, with one live text."""

from collections.abc import Callable, Iterable, Sequence

from everloop.log import Fact
from everloop.turns.runner import Turn
from everloop.turns.scheduler import Effect, TurnSource

NOTHING = Effect()


class TurnSources:
    """Several sources as one. Each stream belongs to the source that knows a branch of it."""

    def __init__(self, sources: Sequence[TurnSource], claim: str) -> None:
        self._sources, self.claim = tuple(sources), claim

    def streams(self) -> Iterable[str]:
        """The streams of all sources."""
        return [stream for source in self._sources for stream in source.streams()]

    def current_branch(self, stream_id: str) -> str | None:
        """The branch that a stream is on; None if no source has it."""
        found = (source.current_branch(stream_id) for source in self._sources)
        return next(filter(None, found), None)

    def next_turn(self, stream_id: str, branch: str, running: Callable[[str], bool]) -> Turn | None:
        """The turn to run next, by the source that has the stream."""
        source = self._owner(stream_id)
        return source.next_turn(stream_id, branch, running) if source else None

    def is_gone(self, turn: Turn) -> bool:
        """Whether a turn was retracted, or its stream is gone."""
        source = self._owner(turn.stream_id)
        return source is None or source.is_gone(turn)

    def effect(self, fact: Fact) -> Effect | None:
        """What a fact means for the turns of any source."""
        found = (source.effect(fact) for source in self._sources)
        return next((each for each in found if each is not None and each != NOTHING), None)

    def _owner(self, stream_id: str) -> TurnSource | None:
        owners = (one for one in self._sources if one.current_branch(stream_id) is not None)
        return next(owners, None)
