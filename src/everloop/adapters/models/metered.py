"""A model of which every call is recorded with what it took, whoever asks it and for whatever."""

from collections.abc import Callable, Iterator
from datetime import datetime

from everloop.ports import Chunk, Clock, Model, Params, Prompt, Stream, Usage
from everloop.thread.model.commands import RecordModelCall

Record = Callable[[RecordModelCall], object]


class Metered:
    """Another model, and a fact for each of its calls."""

    def __init__(self, model: Model, purpose: str, clock: Clock, record: Record) -> None:
        self._model, self._purpose, self._clock, self._record = model, purpose, clock, record

    @property
    def name(self) -> str:
        """The other's name."""
        return self._model.name

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """The other's answer."""
        began = self._clock.now()
        return _Metered(self._model.generate(prompt, params), lambda used: self._note(used, began))

    def _note(self, usage: Usage, began: datetime) -> None:
        took = (self._clock.now() - began).total_seconds()
        cost = -1.0 if usage.cost_usd is None else usage.cost_usd
        self._record(
            RecordModelCall(
                self._purpose,
                usage.model,
                usage.tokens_in,
                usage.tokens_out,
                cost,
                round(took, 3),
            )
        )


class _Metered:
    def __init__(self, stream: Stream, note: Callable[[Usage], None]) -> None:
        self._stream, self._note = stream, note

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        chunk = next(self._stream)
        if isinstance(chunk, Usage):
            self._note(chunk)
        return chunk

    def close(self) -> None:
        self._stream.close()
