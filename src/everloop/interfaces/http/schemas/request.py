"""Request bodies that many routes share."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

# Idempotency key chosen by the client: a repeated request with the same key returns the first
# result.
RequestId = Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z0-9_-]*$")]


class Body(BaseModel):
    """Base of request bodies. Unknown fields are refused, so that none is silently ignored."""

    model_config = ConfigDict(extra="forbid")
    request_id: RequestId = ""


EMPTY_BODY = Body()
