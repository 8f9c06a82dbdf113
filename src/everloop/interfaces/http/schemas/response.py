"""Values of the engine as JSON: the base of every answer, and what several routes give."""

from typing import TypeVar

from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, TypeAdapter

from everloop.log.history.impact import Impact

T = TypeVar("T")


class Shown(BaseModel):
    """A value of the engine, as JSON."""

    model_config = ConfigDict(from_attributes=True)


class TouchedOut(Shown):
    """A fact that would change sides."""

    position: int
    kind: str
    stream: str


class ImpactOut(Shown):
    """What would no longer count, and what would count again."""

    hides: list[TouchedOut]
    restores: list[TouchedOut]
    kinds: dict[str, int]


class DoneOut(Shown):
    """Where it was recorded; retract that position to undo it. 0: nothing was to be done."""

    position: int


def written(kind: TypeAdapter[T], value: T) -> Response:
    """A checked value as JSON, for what is read often: it is not checked and written once more."""
    return Response(kind.dump_json(value), media_type="application/json")


def impact_out(impact: Impact) -> ImpactOut:
    """What would change, as JSON."""
    return ImpactOut(
        hides=[TouchedOut.model_validate(one) for one in impact.hides],
        restores=[TouchedOut.model_validate(one) for one in impact.restores],
        kinds=impact.kinds(),
    )
