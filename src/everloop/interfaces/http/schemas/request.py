"""What is sent to HTTP's door, as far as it is the same for many routes."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

# A name that the client gives a request: made again with the same, it gives the first result.
RequestId = Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z0-9_-]*$")]


class Body(BaseModel):
    """What is sent. What is not known is refused: nobody is to think that it had an effect."""

    model_config = ConfigDict(extra="forbid")
    request_id: RequestId = ""


NOTHING = Body()
