"""Routes for push messages: whether this device gets them, which, how they went, and a test."""

from datetime import datetime
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from everloop.interfaces.http.dependencies import ActorDep, Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.schemas.request import EMPTY_BODY, Body
from everloop.log import from_microseconds
from everloop.notifications import Delivery, Subscribe

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["inbox"])
Group = Literal["needs_you", "failed", "finished"]


class DeliveryOut(BaseModel):
    """A message that was sent, and how that went. `status` is the push service's code."""

    subject: str
    kind: str
    outcome: str
    status: int
    detail: str
    at: datetime


class PushOut(BaseModel):
    """What this device is told. Without a `public_key`, this server cannot send push messages."""

    public_key: str
    subscribed: bool
    groups: list[Group]
    deliveries: list[DeliveryOut]


class SubscribeBody(Body):
    """The subscription that the browser made, and the groups of requests to be told of."""

    endpoint: str = Field(max_length=2_000)
    p256dh: str = Field(max_length=200)
    auth: str = Field(max_length=200)
    groups: list[Group] = Field(default=["needs_you", "failed"], max_length=3)


@router.get("/push")
def get_push(deps: Deps, actor: ActorDep) -> PushOut:
    """What this device is told, and how the newest messages went."""
    service = deps.running.notifications
    found = service.subscription(actor.session)
    return PushOut(
        public_key=service.public_key,
        subscribed=found is not None,
        groups=[one for one in GROUPS if found is not None and one in found.groups],
        deliveries=[_out(one) for one in service.deliveries(actor.session)],
    )


@router.put("/push")
def subscribe(body: SubscribeBody, deps: Deps, actor: ActorDep) -> PushOut:
    """Tell this device of new requests, also while no page is open."""
    command = Subscribe(actor.session, body.endpoint, body.p256dh, body.auth, tuple(body.groups))
    deps.running.notifications.subscribe(command, actor)
    return get_push(deps, actor)


@router.delete("/push")
def unsubscribe(deps: Deps, actor: ActorDep) -> PushOut:
    """Tell this device nothing any more."""
    deps.running.notifications.unsubscribe(actor.session, actor)
    return get_push(deps, actor)


@router.post("/push/test")
def send_test(deps: Deps, actor: ActorDep, body: Body = EMPTY_BODY) -> DeliveryOut:
    """Send a test message to this device, and say how that went."""
    del body
    return _out(deps.running.notifications.send_test(actor.session))


GROUPS: tuple[Group, ...] = ("needs_you", "failed", "finished")


def _out(one: Delivery) -> DeliveryOut:
    return DeliveryOut(
        subject=one.subject,
        kind=one.kind,
        outcome=one.outcome,
        status=one.status,
        detail=one.detail,
        at=from_microseconds(one.at_us),
    )
