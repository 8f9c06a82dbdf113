"""The usage recorder: each call of a model becomes one fact, whatever it was made for."""

from collections.abc import Callable, Iterator

from everloop.log import CommandBus, Context
from everloop.ports import Chunk, Clock, Model, Params, Prompt, Stream, Usage
from everloop.tracing import note_operation
from everloop.usage.commands import RecordModelCall

ENGINE = Context(actor="engine")
UNKNOWN_COST = -1.0


class UsageRecorder:
    """Records what calls of models cost."""

    def __init__(self, bus: CommandBus, clock: Clock) -> None:
        self._bus, self._clock = bus, clock

    def record(
        self,
        purpose: str,
        usage: Usage,
        *,
        duration_s: float = 0.0,
        turn_id: str = "",
        because: tuple[int, ...] = (),
    ) -> None:
        """Record one call: what it was for, its tokens, cost and duration."""
        note_operation(
            "model.call",
            duration_s,
            model=usage.model,
            purpose=purpose,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
        )
        cost = UNKNOWN_COST if usage.cost_usd is None else usage.cost_usd
        call = RecordModelCall(
            purpose,
            usage.model,
            usage.tokens_in,
            usage.tokens_out,
            cost,
            round(duration_s, 3),
            turn_id,
            usage.tokens_cached,
            because,
        )
        self._bus.do(call, by=ENGINE)

    def metered(self, model: Model, purpose: str) -> Model:
        """The same model, with every call recorded under a purpose."""
        return _MeteredModel(model, purpose, self._clock, self.record)


class _MeteredModel:
    def __init__(
        self, model: Model, purpose: str, clock: Clock, record: Callable[..., None]
    ) -> None:
        self._model, self._purpose, self._clock, self._record = model, purpose, clock, record

    @property
    def name(self) -> str:
        return self._model.name

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        began = self._clock.now()

        def note(usage: Usage) -> None:
            duration_s = (self._clock.now() - began).total_seconds()
            self._record(self._purpose, usage, duration_s=duration_s)

        return _MeteredStream(self._model.generate(prompt, params), note)


class _MeteredStream:
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
