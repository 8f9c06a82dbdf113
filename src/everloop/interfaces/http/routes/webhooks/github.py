"""The route for GitHub's webhook: a signed delivery says where something is new."""

from typing import Annotated

from fastapi import APIRouter, Header, Request
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from everloop.interfaces.http.dependencies import Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES, RAW_BODY

router = APIRouter(prefix="/api/webhooks", responses=ERROR_RESPONSES, tags=["webhooks"])


class WebhookDeliveryOut(BaseModel):
    """Whether the delivery is of interest here. The same one again changes nothing."""

    taken: bool


@router.post("/github", status_code=202, openapi_extra=RAW_BODY)
async def receive_github(
    request: Request,
    deps: Deps,
    signature: Annotated[str, Header(alias="x-hub-signature-256", max_length=200)] = "",
    delivery: Annotated[str, Header(alias="x-github-delivery", max_length=200)] = "",
    event: Annotated[str, Header(alias="x-github-event", max_length=100)] = "",
) -> WebhookDeliveryOut:
    """Take a delivery of GitHub. It needs no device, but the signature of the webhook's secret.

    Without a secret in the settings there is no such route (404).
    """
    body = await request.body()  # the security middleware bounds it

    def receive() -> bool:
        return deps.engine.github.receive(
            body, signature=signature, delivery_id=delivery, event=event
        )

    return WebhookDeliveryOut(taken=await run_in_threadpool(receive))
