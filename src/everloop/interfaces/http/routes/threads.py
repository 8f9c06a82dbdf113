"""Routes for threads, messages and turns, and the event stream."""

from datetime import date, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, Field, TypeAdapter

from everloop.interfaces.http.dependencies import ActorDep, Deps, DeviceDep
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.schemas.request import EMPTY_BODY, Body, RequestId
from everloop.interfaces.http.schemas.response import (
    DoneOut,
    ImpactOut,
    ResponseBody,
    impact_out,
    json_response,
)
from everloop.interfaces.http.streaming.subscriber import EventStreamResponse, Subscriber
from everloop.log import Command, execute_once
from everloop.thread import (
    MESSAGE_PAGE_MAX,
    THREAD_TRACES,
    ArchiveThread,
    Attachment,
    BranchSwitch,
    HideMessage,
    OutgoingMessage,
    PinThread,
    RenameThread,
    RestoreThread,
    SentMessage,
    UnhideMessage,
    UnpinThread,
    answer_versions,
    find_message,
    find_thread,
    find_turn,
    list_threads,
    messages_around,
    page_from_day,
)
from everloop.turns import AnswerOptions

POSITION_DIGITS_MAX = 18  # of a log position in `Last-Event-ID`; a longer one is no position
router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["thread"])

BranchName = Annotated[str, Query(max_length=300)]


class ThreadOut(ResponseBody):
    """A thread in a list."""

    thread_id: str
    title: str
    archived: bool
    pinned: bool
    opened_at: datetime
    newest_at: datetime


class AttachmentOut(ResponseBody):
    """A file attached to a message."""

    digest: str
    name: str
    media_type: str
    size: int


class ToolNameOut(ResponseBody):
    """A tool call of an answer; its turn has the rest."""

    call_id: str
    name: str
    failed: bool


class MessageOut(ResponseBody):
    """A message."""

    position: int
    branch: str
    thread_id: str
    message_id: str
    role: str
    text: str
    state: str
    said_at: datetime
    turn_id: str
    hidden: bool
    model: str
    reason: str
    hint: str
    attachments: list[AttachmentOut]
    context_id: str
    finish: str
    reasoned: bool
    asked_at: datetime  # when its question was sent; messages are in this order
    tools: list[ToolNameOut]  # of an answer; its turn has what was asked and what came back


class AnswerVersionOut(ResponseBody):
    """One of several answers to the same message."""

    message_id: str
    branch: str
    position: int
    standing: bool
    model: str
    state: str


class PageOut(ResponseBody):
    """One page of messages in order, and whether there are earlier and later ones."""

    messages: list[MessageOut]
    earlier: bool
    later: bool


class ToolOut(ResponseBody):
    """A tool call of a model."""

    call_id: str
    name: str
    arguments: str
    result: str
    failed: bool


class TurnOut(ResponseBody):
    """A turn and its current phase."""

    turn_id: str
    thread_id: str
    message_id: str
    answer_id: str
    phase: str
    model: str
    context_id: str
    recorded_at: datetime
    phase_at: datetime
    saved: str
    reason: str
    hint: str
    tools: list[ToolOut]
    reasoning: str


class SentOut(ResponseBody):
    """A stored message, and the turn that will answer it."""

    thread_id: str
    message_id: str
    turn_id: str
    position: int
    branch: str


class GoneOut(ResponseBody):
    """The current branch of a thread, and the branch before."""

    branch: str
    before: str


class NewThread(Body):
    """The title of a new thread."""

    title: Annotated[str, Field(min_length=1, max_length=200)]


class ThreadChange(Body):
    """Changes to a thread; absent fields stay as they are."""

    title: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    archived: bool | None = None
    pinned: bool | None = None


class Options(BaseModel):
    """How an answer is wanted; absent fields: as configured."""

    model: Annotated[str, Field(max_length=200, pattern=r"^[A-Za-z0-9_.:/@+-]*$")] = ""
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    tokens_max: Annotated[int, Field(ge=0, le=1_000_000)] = 0

    def to_options(self) -> AnswerOptions:
        """The options, as threads know them."""
        return AnswerOptions(self.model, self.temperature, self.tokens_max)


AS_USUAL = Options()


class RegenerateIn(Body):
    """How another answer is wanted."""

    options: Options = AS_USUAL


AGAIN = RegenerateIn()


class MessageIn(BaseModel):
    """A message to send. `letter_id` is an idempotency key: sent twice, it is stored once."""

    text: Annotated[str, Field(max_length=1_000_000)] = ""
    attachments: Annotated[list[AttachmentOut], Field(max_length=20)] = []
    letter_id: RequestId = ""
    options: Options = AS_USUAL


class CurrentBranchIn(Body):
    """The branch to switch to."""

    branch: Annotated[str, Field(max_length=200)]


class RetractionIn(Body):
    """Why the message is retracted."""

    reason: Annotated[str, Field(max_length=500)] = ""


class MessageHiddenIn(Body):
    """Whether a message is hidden."""

    hidden: bool


@router.get("/threads", response_model=list[ThreadOut])
def threads(deps: Deps, archived: bool = False) -> Response:
    """List threads, pinned ones first, then most recently active first."""
    with deps.engine.reading() as reader:
        found = list_threads(reader, archived=archived)
    return json_response(_THREADS, [ThreadOut.model_validate(one) for one in found])


@router.post("/threads", status_code=201)
def open_thread(new: NewThread, deps: Deps, by: ActorDep) -> ThreadOut:
    """Start a thread."""
    thread_id = deps.running.talk.open(new.title, by, new.request_id)
    return _thread(deps, thread_id)


@router.get("/threads/{thread_id}")
def one_thread(thread_id: str, deps: Deps) -> ThreadOut:
    """One thread."""
    return _thread(deps, thread_id)


@router.patch("/threads/{thread_id}")
def change_thread(thread_id: str, change: ThreadChange, deps: Deps, by: ActorDep) -> ThreadOut:
    """Rename, archive, restore, pin or unpin a thread."""
    wanted: list[Command] = []
    if change.title is not None:
        wanted.append(RenameThread(thread_id, change.title))
    if change.archived is not None:
        wanted.append((ArchiveThread if change.archived else RestoreThread)(thread_id))
    if change.pinned is not None:
        wanted.append((PinThread if change.pinned else UnpinThread)(thread_id))
    for command in wanted:
        execute_once(deps.engine, command, THREAD_TRACES, by=by, request_id=change.request_id)
    return _thread(deps, thread_id)


@router.get("/threads/{thread_id}/retraction")
def preview_delete(thread_id: str, deps: Deps) -> ImpactOut:
    """Preview deleting a thread."""
    return impact_out(deps.running.talk.preview_delete(thread_id))


@router.post("/threads/{thread_id}/retraction")
def delete_thread(thread_id: str, deps: Deps, by: ActorDep, asked: Body = EMPTY_BODY) -> DoneOut:
    """Delete a thread and everything derived from it. Retract the `position` to undo it."""
    return DoneOut(position=deps.running.talk.delete(thread_id, by, asked.request_id).position)


@router.get("/threads/{thread_id}/messages", response_model=PageOut)
def messages(
    thread_id: str,
    deps: Deps,
    at: Annotated[
        str | None, Query(description="Id of a message; by default the end of the thread.")
    ] = None,
    way: Literal["before", "after"] = "before",
    limit: Annotated[int, Query(ge=1, le=MESSAGE_PAGE_MAX)] = 50,
    branch: BranchName | None = None,
) -> Response:
    """One page of messages before or after a message."""
    with deps.engine.reading(branch=branch) as reader:
        find_thread(reader, thread_id)
        page = messages_around(reader, thread_id, at, limit, way)
    return json_response(_PAGE, PageOut.model_validate(page))


@router.get("/threads/{thread_id}/days/{day}/messages")
def jump(
    thread_id: str,
    day: date,
    deps: Deps,
    limit: Annotated[int, Query(ge=1, le=MESSAGE_PAGE_MAX)] = 50,
) -> PageOut:
    """Messages from a day on, or from the next day that has any; else the last messages."""
    with deps.engine.reading() as reader:
        find_thread(reader, thread_id)
        page = page_from_day(reader, thread_id, day.isoformat(), limit)
    return PageOut.model_validate(page)


@router.get("/messages/{message_id}/siblings")
def siblings(message_id: str, deps: Deps) -> list[AnswerVersionOut]:
    """All answers to the same message, on any branch, oldest first."""
    return [
        AnswerVersionOut.model_validate(one) for one in answer_versions(deps.engine.log, message_id)
    ]


@router.post("/threads/{thread_id}/messages", status_code=201)
def send(thread_id: str, said: MessageIn, deps: Deps, device: DeviceDep, by: ActorDep) -> SentOut:
    """Send a message. It is stored when this returns; the answer arrives on the event stream."""
    sent: SentMessage = deps.running.talk.send(thread_id, _letter(said, device.device_id), by)
    return SentOut.model_validate(sent)


@router.get("/messages/{message_id}")
def one_message(message_id: str, deps: Deps, branch: BranchName | None = None) -> MessageOut:
    """One message."""
    with deps.engine.reading(branch=branch) as reader:
        return MessageOut.model_validate(find_message(reader, message_id))


@router.post("/messages/{message_id}/again", status_code=201)
def again(message_id: str, deps: Deps, by: ActorDep, asked: RegenerateIn = AGAIN) -> SentOut:
    """Regenerate: ask for another answer, perhaps of another model, keeping the existing ones."""
    options = asked.options.to_options()
    sent = deps.running.talk.regenerate(message_id, by, asked.request_id, options)
    return SentOut.model_validate(sent)


@router.post("/messages/{message_id}/continue", status_code=201)
def continue_answer(
    message_id: str, deps: Deps, device: DeviceDep, by: ActorDep, asked: Body = EMPTY_BODY
) -> SentOut:
    """Ask for the rest of an answer that ended at its length limit."""
    sent = deps.running.talk.continue_answer(
        message_id, by, request_id=asked.request_id, device=device.device_id
    )
    return SentOut.model_validate(sent)


@router.post("/messages/{message_id}/edit", status_code=201)
def edit(message_id: str, said: MessageIn, deps: Deps, device: DeviceDep, by: ActorDep) -> SentOut:
    """Edit a message: send another in its place, on a new branch."""
    letter = _letter(said, device.device_id)
    return SentOut.model_validate(deps.running.talk.edit(message_id, letter, by))


@router.get("/messages/{message_id}/rewind")
def preview_rewind(message_id: str, deps: Deps) -> ImpactOut:
    """Preview rewinding the thread to this message."""
    return impact_out(deps.running.talk.preview_rewind(message_id))


@router.post("/messages/{message_id}/rewind")
def rewind(message_id: str, deps: Deps, by: ActorDep, asked: Body = EMPTY_BODY) -> GoneOut:
    """Rewind the thread to this message. Later messages stay on their branch."""
    gone: BranchSwitch = deps.running.talk.rewind(message_id, by, asked.request_id)
    return GoneOut.model_validate(gone)


@router.get("/messages/{message_id}/retraction")
def preview_retract(message_id: str, deps: Deps) -> ImpactOut:
    """Preview retracting this message."""
    return impact_out(deps.running.talk.preview_retract(message_id))


@router.post("/messages/{message_id}/retraction")
def retract(message_id: str, reason: RetractionIn, deps: Deps, by: ActorDep) -> DoneOut:
    """Retract this message and everything derived from it."""
    receipt = deps.running.talk.retract(message_id, reason.reason, by, reason.request_id)
    return DoneOut(position=receipt.position)


@router.put("/messages/{message_id}/hidden")
def fold(message_id: str, folded: MessageHiddenIn, deps: Deps, by: ActorDep) -> MessageOut:
    """Hide a message from readers and prompts, or show it again."""
    with deps.engine.reading() as reader:
        thread_id = find_message(reader, message_id).thread_id
    command = (HideMessage if folded.hidden else UnhideMessage)(thread_id, message_id)
    execute_once(deps.engine, command, THREAD_TRACES, by=by, request_id=folded.request_id)
    return one_message(message_id, deps)


@router.post("/threads/{thread_id}/branch")
def stand(thread_id: str, standing: CurrentBranchIn, deps: Deps, by: ActorDep) -> GoneOut:
    """Switch to another branch of this thread, for example to undo a rewind."""
    talk, request_id = deps.running.talk, standing.request_id
    return GoneOut.model_validate(talk.switch_branch(thread_id, standing.branch, by, request_id))


@router.get("/threads/{thread_id}/turns")
def open_turns(thread_id: str, deps: Deps) -> list[TurnOut]:
    """The turns that have not ended, in queue order."""
    return [TurnOut.model_validate(one) for one in deps.running.talk.open_turns(thread_id)]


@router.get("/turns/{turn_id}")
def one_turn(turn_id: str, deps: Deps, branch: BranchName | None = None) -> TurnOut:
    """A turn and its current phase."""
    with deps.engine.reading(branch=branch) as reader:
        return TurnOut.model_validate(find_turn(reader, turn_id))


@router.post("/turns/{turn_id}/stop", status_code=202)
def stop(turn_id: str, deps: Deps, by: ActorDep) -> TurnOut:
    """Stop a running or queued turn. The partial answer is kept."""
    with deps.engine.reading() as reader:
        turn = find_turn(reader, turn_id)
    deps.running.stop_turn(turn.thread_id, turn_id, by=by)
    return one_turn(turn_id, deps)


@router.get(
    "/stream",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "Server-sent events."}},
)
async def stream(
    deps: Deps,
    device: DeviceDep,
    after: Annotated[
        int | None,
        Query(ge=0, description="Log position to resume after; by default only new events."),
    ] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> EventStreamResponse:
    """Server-sent events: recorded facts, and answers as they are written. Resumable."""
    resumed = last_event_id or ""
    known = resumed.isascii() and resumed.isdigit() and len(resumed) <= POSITION_DIGITS_MAX
    position = int(resumed) if known else after
    return EventStreamResponse(
        lambda send: deps.broadcast.subscribe(Subscriber(device.device_id, send), after=position)
    )


_THREADS = TypeAdapter(list[ThreadOut])
_PAGE = TypeAdapter(PageOut)


def _thread(deps: Deps, thread_id: str) -> ThreadOut:
    with deps.engine.reading() as reader:
        return ThreadOut.model_validate(find_thread(reader, thread_id))


def _letter(said: MessageIn, device_id: str) -> OutgoingMessage:
    files = tuple(Attachment(a.digest, a.name, a.media_type, a.size) for a in said.attachments)
    options = said.options.to_options()
    return OutgoingMessage(said.text, files, device_id, said.letter_id, options)
