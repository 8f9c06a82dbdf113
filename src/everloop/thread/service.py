"""What the doors call: speaking, answering again, going back, taking back, looking for.

Each thread is a tree of its own, so going back in one leaves every other where it is. Nothing that
was said is ever lost: the old future of a rewound thread stays on its branch.
"""

from functools import partial
from typing import NamedTuple

import msgspec

from everloop.errors import Conflict, Invalid
from everloop.log import Context, Log, Receipt
from everloop.log.history.impact import Impact
from everloop.log.history.positions import stood_at
from everloop.log.idempotency import do_once, new_id, other_request, request_name, retract_once
from everloop.log.model.facts import BranchForked, BranchStood
from everloop.log.model.record import fact_of
from everloop.memory.model.scopes import OWNER
from everloop.memory.retrieval.results import Asked
from everloop.memory.service import Keeper
from everloop.thread.idempotent_requests import THREAD_TRACES
from everloop.thread.model.commands import HOME, HOME_TITLE, OpenThread, RecordTurn, SendMessage
from everloop.thread.model.events import Attachment, MessageSent, TurnRecorded
from everloop.thread.model.state import CONVERSATION, stream_of
from everloop.thread.queries import threads
from everloop.thread.search import Narrow, Searched, search
from everloop.thread.turns.runner import Do


class Sent(msgspec.Struct, frozen=True):
    """A message that was taken in, and the turn that will answer it."""

    thread_id: str
    message_id: str
    turn_id: str
    position: int
    branch: str


class Letter(msgspec.Struct, frozen=True):
    """What a person wants to say. With a `letter_id`, saying it twice says it once."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    device: str = ""
    letter_id: str = ""


class Gone(msgspec.Struct, frozen=True):
    """Where a thread stands after it went back; `before` is where it stood, to undo it."""

    branch: str
    before: str


class Request(NamedTuple):
    """What somebody wants done once: a word for it, and the id that they gave it, if any."""

    word: str
    request_id: str

    @property
    def name(self) -> str | None:
        """The same, as the log has it."""
        return request_name(self.word, self.request_id)


NO_REQUEST = Request("", "")


class Talk:
    """The conversations of one log."""

    def __init__(self, log: Log, do: Do, keeper: Keeper) -> None:
        self._log, self._do, self._keeper = log, do, keeper

    # -- speaking ----------------------------------------------------------------------------------

    def home(self, by: Context) -> str:
        """The thread that everybody has; it is opened when it is first asked for."""
        with self._log.reading() as reader:
            known = any(one.thread_id == HOME for one in threads.threads(reader))
        if not known:
            self._open(HOME, HOME_TITLE, by)
        return HOME

    def open(self, title: str, by: Context, request_id: str = "") -> str:
        """Begin a named thread."""
        thread_id = new_id(self._log.ids, "thr", request_id)
        self._open(thread_id, title, by, request_id)
        return thread_id

    def send(self, thread_id: str, letter: Letter, by: Context) -> Sent:
        """Say something. It is durable when this returns; the answer follows."""
        if (before := self._said_before(letter)) is not None:
            if before.thread_id != thread_id:
                raise _other_letter(letter)
            return before
        return self._send(thread_id, letter, by, None)

    def again(self, message_id: str, by: Context, request_id: str = "") -> Sent:
        """Another answer to a message: a sibling of those it has."""
        fork = Request("fork", request_id)
        said = self._asked(message_id, fork)
        # There, and not where the thread stands: another device may have gone elsewhere since.
        do = partial(self._do, branch=self._fork(said.thread_id, said.position, by, fork).branch)
        turn_id = new_id(self._log.ids, "trn", request_id)
        command = RecordTurn(said.thread_id, turn_id, said.message_id)
        receipt = do_once(do, command, THREAD_TRACES, by=by, request_id=request_id)
        return Sent(
            said.thread_id, said.message_id, command.turn_id, receipt.position, receipt.branch
        )

    def edit(self, message_id: str, letter: Letter, by: Context) -> Sent:
        """Say something else in place of a message, on a branch of its own."""
        if (before := self._said_before(letter)) is not None:
            return before
        fork = Request("edit", letter.letter_id)
        said = self._said(message_id, fork)
        if said.role != "user":
            raise Invalid("only what a person said can be said anew", hint="Ask again instead.")
        forked = self._fork(said.thread_id, said.position - 1, by, fork)
        return self._send(said.thread_id, letter, by, forked.branch)

    def open_turns(self, thread_id: str) -> list[threads.Turn]:
        """The turns of a thread that have not ended, in the order in which they wait."""
        known = self._log.state(CONVERSATION, stream_of(thread_id))
        waiting = [turn.turn_id for turn in known.turns] if known else []
        with self._log.reading() as reader:
            there = threads.questions(reader, waiting)  # some may have been taken back just now
            turns = [threads.turn(reader, turn_id) for turn_id in waiting if turn_id in there]
        return [turn for turn in turns if turn.open]

    # -- going back --------------------------------------------------------------------------------

    def preview_rewind(self, message_id: str) -> Impact:
        """What would no longer count if the thread went back to right after a message."""
        said = self._said(message_id)
        return self._log.preview_rewind(said.position, tree=stream_of(said.thread_id))

    def rewind(self, message_id: str, by: Context, request_id: str = "") -> Gone:
        """Go back to right after a message. What came later stays on its branch."""
        request = Request("rewind", request_id)
        said = self._said(message_id, request)
        forked = self._fork(said.thread_id, said.position, by, request)
        return Gone(forked.branch, forked.parent)

    def stand(self, thread_id: str, branch: str, by: Context, request_id: str = "") -> Gone:
        """Go to another branch of a thread; so a rewind is undone."""
        tree = stream_of(thread_id)
        if self._log.branches[branch].root != tree:
            raise Invalid(
                f"{branch!r} is no branch of {thread_id!r}", hint="Choose one of its own."
            )
        name = request_name("stand", request_id)
        done = self._log.stand(branch, actor=by.actor, request_id=name)
        if done.repeated and BranchStood(branch) not in [fact.event for fact in done.facts]:
            raise other_request(request_id)
        if not done.facts:
            return Gone(branch, branch)
        with self._log.reading() as reader:
            stood, _ = stood_at(reader, done.position - 1)
        return Gone(branch, stood[tree])

    def preview_retract(self, message_id: str) -> Impact:
        """What taking a message back would hide."""
        return self._log.preview_retract([self._said(message_id).position])

    def retract(self, message_id: str, reason: str, by: Context, request_id: str = "") -> Receipt:
        """Take a message back, and all that came from it. Retract the retraction to undo it."""
        position = self._said(message_id, Request("retract", request_id)).position
        return retract_once(self._log, position, reason, by=by, request_id=request_id)

    # -- looking -----------------------------------------------------------------------------------

    def search(
        self, asked: Asked, narrow: Narrow | None = None, *, principal: str = OWNER
    ) -> Searched:
        """Messages by words, meaning and date, in a thread, by one side."""
        return search(self._log, self._keeper, principal, asked, narrow)

    # -- inside ------------------------------------------------------------------------------------

    def _open(self, thread_id: str, title: str, by: Context, request_id: str = "") -> None:
        command = OpenThread(thread_id, title)
        self._log.plant(stream_of(thread_id), actor=by.actor)
        do_once(self._do, command, THREAD_TRACES, by=by, request_id=request_id)

    def _send(self, thread_id: str, letter: Letter, by: Context, branch: str | None) -> Sent:
        name = letter.letter_id or self._log.ids.new("let")
        command = SendMessage(
            thread_id,
            f"msg-{name}",
            letter.text,
            f"trn-{name}",
            letter.attachments,
            letter.device,
        )
        receipt = self._do(command, by=by, branch=branch, request_id=_request(name))
        return _sent(receipt, command)

    def _said_before(self, letter: Letter) -> Sent | None:
        """What came of the same letter, wherever the thread stands now."""
        if not letter.letter_id:
            return None
        with self._log.reading() as reader:
            records = reader.requested(_request(letter.letter_id))
        for happened, record in ((fact_of(one).event, one) for one in records):
            if isinstance(happened, MessageSent):
                said = (happened.text, tuple(happened.attachments))
                if said != (letter.text, letter.attachments):
                    raise _other_letter(letter)
            if isinstance(happened, TurnRecorded):
                return Sent(
                    happened.thread_id,
                    happened.message_id,
                    happened.turn_id,
                    record.position,
                    record.branch,
                )
        return None

    def _said(self, message_id: str, request: Request = NO_REQUEST) -> threads.Message:
        """A message in sight; for a request that is made again, as it was the first time."""
        with self._log.reading(as_of=self._asked_at(request)) as reader:
            return threads.message(reader, message_id)

    def _asked(self, message_id: str, request: Request) -> threads.Message:
        """What a person said: this message, or the one that it answers."""
        with self._log.reading(as_of=self._asked_at(request)) as reader:
            said = threads.message(reader, message_id)
            if said.role == "user":
                return said
            turn = threads.turn(reader, said.turn_id)
            return threads.message(reader, turn.message_id)

    def _asked_at(self, request: Request) -> int | None:
        """Where the log stood when a request was made before; None if it was not."""
        if request.name is None:
            return None
        with self._log.reading() as reader:
            records = reader.requested(request.name)
        return records[0].position - 1 if records else None

    def _fork(self, thread_id: str, at: int, by: Context, request: Request) -> BranchForked:
        tree = stream_of(thread_id)
        done = self._log.rewind(at, tree=tree, actor=by.actor, request_id=request.name)
        forked = done.facts[0].event
        if not isinstance(forked, BranchForked) or forked.at != at:
            raise other_request(request.request_id)
        return forked


def _other_letter(letter: Letter) -> Conflict:
    return Conflict(
        f"letter {letter.letter_id!r} was sent before, with other words or elsewhere",
        hint="Use a new letter id.",
    )


def _request(letter_id: str) -> str:
    return f"say-{letter_id}"


def _sent(receipt: Receipt, command: SendMessage) -> Sent:
    return Sent(
        command.thread_id,
        command.message_id,
        command.turn_id,
        receipt.position,
        receipt.branch,
    )
