"""Response bodies about memories of a world, how turns were read, and previews of imports."""

from datetime import datetime

from pydantic import BaseModel

from everloop.interfaces.http.schemas.response import ResponseBody
from everloop.interfaces.http.schemas.worlds import CastQuestionOut, ImportNoteOut


class WorldMemoryOut(ResponseBody):
    """A memory of people of a world.

    `significance`: 0 routine, 1 notable, 2 significant, 3 pivotal.
    """

    item_id: str
    text: str
    kind: str
    clock: datetime
    witnesses: list[str]
    scene_id: str
    message_id: str
    significance: int
    pinned: bool


class WorldMemoriesOut(BaseModel):
    """Memories, and whether there are older ones."""

    memories: list[WorldMemoryOut]
    more: bool


class RatedOut(BaseModel):
    """How many memories were rated."""

    rated: int


class TurnReadOut(ResponseBody):
    """How messages were read for what follows from them, and what that missed or proposes."""

    message_id: str
    messages: list[str]
    position: int
    read_by: str
    failure: str
    refused: list[str]
    scene_over: str
    could_hear: list[str]


class TurnsReadOut(BaseModel):
    """How the turns of a scene were read. `closing` proposes to close it, and says why."""

    turns: list[TurnReadOut]
    closing: str


class ImportPreviewOut(BaseModel):
    """What an import would come to. `before`: the same content was imported, and is still there."""

    source: str
    name: str
    characters: list[str]
    worlds: int
    books: int
    messages: int
    notes: list[ImportNoteOut]
    questions: list[CastQuestionOut]
    before: bool
