"""Thread service, called by every interface: send, regenerate, edit, rewind, delete, search.

Each thread has a branch tree of its own, so rewinding one does not affect the others. No message is
ever lost: what came after the rewind point stays on its branch. Requests are idempotent.
"""

from typing import NamedTuple

import msgspec

from everloop.errors import Conflict, Invalid
from everloop.log import CommandBus, Context, Log, Receipt
from everloop.log.history.impact_preview import Impact
from everloop.log.history.positions import current_branches_at
from everloop.log.idempotency import (
    execute_once,
    id_for_request,
    prefixed_request_id,
    request_id_conflict,
    retract_once,
)
from everloop.log.model.facts import BranchForked, BranchStood
from everloop.log.model.record import fact_of
from everloop.memory.model.scopes import OWNER
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.service import MemoryService
from everloop.thread.idempotent_requests import THREAD_TRACES
from everloop.thread.model.commands import HOME, HOME_TITLE, OpenThread, RecordTurn, SendMessage
from everloop.thread.model.events import Attachment, MessageSent, TurnRecorded
from everloop.thread.model.state import CONVERSATION, thread_stream
from everloop.thread.queries import threads
from everloop.thread.search import MessageFilter, MessageSearchResult, search_messages
from everloop.turns.settings import AS_CONFIGURED, AnswerOptions


class SentMessage(msgspec.Struct, frozen=True):
    """A recorded message, and the turn that will answer it."""

    thread_id: str
    message_id: str
    turn_id: str
    position: int
    branch: str


CONTINUE = "Continue exactly where your last answer stopped. Do not repeat any of it."


class OutgoingMessage(msgspec.Struct, frozen=True):
    """A message to send. `letter_id` is an idempotency key: sending it twice sends it once."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    device: str = ""
    letter_id: str = ""
    options: AnswerOptions = AS_CONFIGURED


class BranchSwitch(msgspec.Struct, frozen=True):
    """The current branch after a switch; `before` is the previous one, to undo the switch."""

    branch: str
    before: str


class RequestKey(NamedTuple):
    """An idempotency key: the kind of request, and the id that the caller gave it, if any."""

    word: str
    request_id: str

    @property
    def name(self) -> str | None:
        """The key as the log stores it; None without an id."""
        return prefixed_request_id(self.word, self.request_id)


NO_REQUEST = RequestKey("", "")


class ThreadService:
    """The threads of one log."""

    def __init__(self, log: Log, bus: CommandBus, keeper: MemoryService) -> None:
        self._log, self._bus, self._keeper = log, bus, keeper

    # -- sending -----------------------------------------------------------------------------------

    def home_thread(self, by: Context) -> str:
        """The id of the home thread, which is created on first use."""
        with self._log.reading() as reader:
            known = any(one.thread_id == HOME for one in threads.list_threads(reader))
        if not known:
            self._open(HOME, HOME_TITLE, by)
        return HOME

    def open(self, title: str, by: Context, request_id: str = "") -> str:
        """Create a named thread and return its id."""
        thread_id = id_for_request(self._log.ids, "thr", request_id)
        self._open(thread_id, title, by, request_id)
        return thread_id

    def preview_delete(self, thread_id: str) -> Impact:
        """Preview which facts deleting a thread would hide."""
        return self._log.preview_retract([self._opened_at(thread_id)])

    def delete(self, thread_id: str, by: Context, request_id: str = "") -> Receipt:
        """Delete a thread and everything derived from it. Retract the retraction to undo it."""
        if thread_id == HOME:
            raise Invalid("the home thread cannot be deleted", hint="Delete single messages.")
        before = self._position_before(RequestKey("retract", request_id))
        position = self._opened_at(thread_id, before)
        return retract_once(self._log, position, "", by=by, request_id=request_id)

    def send(self, thread_id: str, letter: OutgoingMessage, by: Context) -> SentMessage:
        """Send a message. It is durable when this returns; the answer is generated later."""
        if (before := self._find_earlier_send(letter)) is not None:
            if before.thread_id != thread_id:
                raise _letter_conflict(letter)
            return before
        return self._send(thread_id, letter, by, None)

    def regenerate(
        self,
        message_id: str,
        by: Context,
        request_id: str = "",
        options: AnswerOptions = AS_CONFIGURED,
    ) -> SentMessage:
        """Regenerate: request another answer to a message, on a new branch."""
        fork = RequestKey("fork", request_id)
        said = self._question_of(message_id, fork)
        # On that branch, not the current one: another device may have switched since.
        branch = self._fork(said.thread_id, said.position, by, fork).branch
        turn_id = id_for_request(self._log.ids, "trn", request_id)
        command = RecordTurn(said.thread_id, turn_id, said.message_id, options)
        receipt = execute_once(
            self._bus, command, THREAD_TRACES, by=by, request_id=request_id, branch=branch
        )
        return SentMessage(
            said.thread_id, said.message_id, command.turn_id, receipt.position, receipt.branch
        )

    def continue_answer(
        self, message_id: str, by: Context, *, request_id: str = "", device: str = ""
    ) -> SentMessage:
        """Ask for the rest of an answer that ended at its length limit.

        Raises:
            Invalid: it did not end so.
            Conflict: it is not the last message any more.
        """
        letter = OutgoingMessage(CONTINUE, letter_id=request_id, device=device)
        if (before := self._find_earlier_send(letter)) is not None:
            return before
        with self._log.reading() as reader:
            said = threads.find_message(reader, message_id)
            newest = threads.newest_messages(reader, said.thread_id, 1).messages[-1]
        if said.finish != "length":
            raise Invalid(
                "only an answer that ended at its length limit can be continued",
                hint="Ask for more in words.",
            )
        if newest.message_id != message_id:
            raise Conflict(
                "the conversation went on since this answer", hint="Ask for the rest in words."
            )
        return self._send(said.thread_id, letter, by, None)

    def edit(self, message_id: str, letter: OutgoingMessage, by: Context) -> SentMessage:
        """Edit a message: send another text in its place, on a new branch."""
        if (before := self._find_earlier_send(letter)) is not None:
            return before
        fork = RequestKey("edit", letter.letter_id)
        said = self._visible_message(message_id, fork)
        if said.role != "user":
            raise Invalid(
                "only your own messages can be edited", hint="Regenerate the answer instead."
            )
        forked = self._fork(said.thread_id, said.position - 1, by, fork)
        return self._send(said.thread_id, letter, by, forked.branch)

    def open_turns(self, thread_id: str) -> list[threads.TurnView]:
        """The turns of a thread that have not ended, in queue order."""
        known = self._log.state(CONVERSATION, thread_stream(thread_id))
        waiting = [turn.turn_id for turn in known.turns] if known else []
        with self._log.reading() as reader:
            there = threads.questions_of_turns(
                reader, waiting
            )  # some may have been deleted just now
            turns = [threads.find_turn(reader, turn_id) for turn_id in waiting if turn_id in there]
        return [turn for turn in turns if turn.open]

    # -- rewinding and deleting --------------------------------------------------------------------

    def preview_rewind(self, message_id: str) -> Impact:
        """Preview which facts a rewind to a message would hide."""
        said = self._visible_message(message_id)
        return self._log.preview_rewind(said.position, tree=thread_stream(said.thread_id))

    def rewind(self, message_id: str, by: Context, request_id: str = "") -> BranchSwitch:
        """Rewind a thread to right after a message. Later messages stay on their branch."""
        request = RequestKey("rewind", request_id)
        said = self._visible_message(message_id, request)
        forked = self._fork(said.thread_id, said.position, by, request)
        return BranchSwitch(forked.branch, forked.parent)

    def switch_branch(
        self, thread_id: str, branch: str, by: Context, request_id: str = ""
    ) -> BranchSwitch:
        """Switch a thread to another of its branches; this also undoes a rewind."""
        tree = thread_stream(thread_id)
        if self._log.branches[branch].root != tree:
            raise Invalid(
                f"{branch!r} is not a branch of thread {thread_id!r}",
                hint="Choose one of its branches.",
            )
        name = prefixed_request_id("stand", request_id)
        done = self._log.switch_branch(branch, actor=by.actor, request_id=name)
        if done.repeated and BranchStood(branch) not in [fact.event for fact in done.facts]:
            raise request_id_conflict(request_id)
        if not done.facts:
            return BranchSwitch(branch, branch)
        with self._log.reading() as reader:
            stood, _ = current_branches_at(reader, done.position - 1)
        return BranchSwitch(branch, stood[tree])

    def preview_retract(self, message_id: str) -> Impact:
        """Preview which facts deleting a message would hide."""
        return self._log.preview_retract([self._visible_message(message_id).position])

    def retract(self, message_id: str, reason: str, by: Context, request_id: str = "") -> Receipt:
        """Delete a message and everything derived from it. Retract the retraction to undo it."""
        position = self._visible_message(message_id, RequestKey("retract", request_id)).position
        return retract_once(self._log, position, reason, by=by, request_id=request_id)

    # -- searching ---------------------------------------------------------------------------------

    def search(
        self, asked: SearchQuery, narrow: MessageFilter | None = None, *, principal: str = OWNER
    ) -> MessageSearchResult:
        """Search messages by keywords, meaning and date; `narrow` filters by thread and role."""
        return search_messages(self._log, self._keeper, principal, asked, narrow)

    # -- inside ------------------------------------------------------------------------------------

    def _open(self, thread_id: str, title: str, by: Context, request_id: str = "") -> None:
        command = OpenThread(thread_id, title)
        self._log.create_tree(thread_stream(thread_id), actor=by.actor)
        execute_once(self._bus, command, THREAD_TRACES, by=by, request_id=request_id)

    def _opened_at(self, thread_id: str, as_of: int | None = None) -> int:
        """The position of the event that opened a thread."""
        with self._log.reading(as_of=as_of) as reader:
            return threads.opened_at(reader, thread_id)

    def _send(
        self, thread_id: str, letter: OutgoingMessage, by: Context, branch: str | None
    ) -> SentMessage:
        name = letter.letter_id or self._log.ids.new("let")
        command = SendMessage(
            thread_id,
            f"msg-{name}",
            letter.text,
            f"trn-{name}",
            letter.attachments,
            letter.device,
            letter.options,
        )
        receipt = self._bus.do(command, by=by, branch=branch, request_id=_letter_request_id(name))
        return _sent_message(receipt, command)

    def _find_earlier_send(self, letter: OutgoingMessage) -> SentMessage | None:
        """What the same letter led to before, whatever the current branch is."""
        if not letter.letter_id:
            return None
        with self._log.reading() as reader:
            records = reader.records_of_request(_letter_request_id(letter.letter_id))
        for happened, record in ((fact_of(one).event, one) for one in records):
            if isinstance(happened, MessageSent):
                said = (happened.text, tuple(happened.attachments))
                if said != (letter.text, letter.attachments):
                    raise _letter_conflict(letter)
            if isinstance(happened, TurnRecorded):
                return SentMessage(
                    happened.thread_id,
                    happened.message_id,
                    happened.turn_id,
                    record.position,
                    record.branch,
                )
        return None

    def _visible_message(
        self, message_id: str, request: RequestKey = NO_REQUEST
    ) -> threads.ThreadMessage:
        """A visible message; for a repeated request, as it was at the first one."""
        with self._log.reading(as_of=self._position_before(request)) as reader:
            return threads.find_message(reader, message_id)

    def _question_of(self, message_id: str, request: RequestKey) -> threads.ThreadMessage:
        """The question: this message itself, or the one that it answers."""
        with self._log.reading(as_of=self._position_before(request)) as reader:
            said = threads.find_message(reader, message_id)
            if said.role == "user":
                return said
            turn = threads.find_turn(reader, said.turn_id)
            return threads.find_message(reader, turn.message_id)

    def _position_before(self, request: RequestKey) -> int | None:
        """The position right before a request was first carried out; None if it was not."""
        if request.name is None:
            return None
        with self._log.reading() as reader:
            records = reader.records_of_request(request.name)
        return records[0].position - 1 if records else None

    def _fork(self, thread_id: str, at: int, by: Context, request: RequestKey) -> BranchForked:
        tree = thread_stream(thread_id)
        done = self._log.rewind(at, tree=tree, actor=by.actor, request_id=request.name)
        forked = done.facts[0].event
        if not isinstance(forked, BranchForked) or forked.at != at:
            raise request_id_conflict(request.request_id)
        return forked


def _letter_conflict(letter: OutgoingMessage) -> Conflict:
    return Conflict(
        f"letter {letter.letter_id!r} was sent before, with another text or to another thread",
        hint="Use a new letter id.",
    )


def _letter_request_id(letter_id: str) -> str:
    return f"say-{letter_id}"


def _sent_message(receipt: Receipt, command: SendMessage) -> SentMessage:
    return SentMessage(
        command.thread_id,
        command.message_id,
        command.turn_id,
        receipt.position,
        receipt.branch,
    )
