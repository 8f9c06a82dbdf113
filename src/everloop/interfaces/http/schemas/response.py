"""Base class of response bodies, and the bodies that several routes share."""

from typing import TypeVar

from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, TypeAdapter

from everloop.log import Impact

T = TypeVar("T")


class ResponseBody(BaseModel):
    """Base of response bodies that are made from attributes of an engine value."""

    model_config = ConfigDict(from_attributes=True)


class TouchedOut(ResponseBody):
    """A fact whose visibility would change."""

    position: int
    kind: str
    stream: str


class ImpactOut(ResponseBody):
    """Preview of a change: the facts it hides and the facts it restores."""

    hides: list[TouchedOut]
    restores: list[TouchedOut]
    kinds: dict[str, int]


class DoneOut(ResponseBody):
    """The log position of the change; retract it to undo. 0: there was nothing to change."""

    position: int


def json_response(kind: TypeAdapter[T], value: T) -> Response:
    """Serialise a validated value directly; FastAPI would validate it a second time."""
    return Response(kind.dump_json(value), media_type="application/json")


def impact_out(impact: Impact) -> ImpactOut:
    """The preview of a change as a response body."""
    return ImpactOut(
        hides=[TouchedOut.model_validate(one) for one in impact.hides],
        restores=[TouchedOut.model_validate(one) for one in impact.restores],
        kinds=impact.hidden_by_kind(),
    )
