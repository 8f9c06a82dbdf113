"""Background task: detect praise or blame of lessons in the message that follows an answer.

Which lessons the answer was shown is in the ledger of its prompt. Sentiment detection calls a model
in the background, never delays a reply, and runs once for each message.
"""

from collections.abc import Callable

from everloop.background.task import BackgroundTask
from everloop.errors import NotFound
from everloop.lessons.feedback.listener import FeedbackDetector
from everloop.lessons.feedback.turns import CandidateLesson, EarlierTurn, UserTurn
from everloop.lessons.projections.queries import load_lessons
from everloop.log import Context, Log, Reader
from everloop.log.ownership import Claim
from everloop.memory.model.scopes import OWNER
from everloop.thread.model.events import MessageSent
from everloop.thread.prompt.inspector import inspect_prompt
from everloop.thread.queries import threads
from everloop.thread.quoting import collapse_whitespace

CLAIM = "thread.feedback"
BEFORE = 6  # earlier messages that give context
MISSED = 200  # facts before its start that a process checks: the one before may have missed them


class FeedbackTask(BackgroundTask):
    """Background task that turns user messages into feedback on lessons."""

    def __init__(self, log: Log, listener: Callable[[], FeedbackDetector]) -> None:
        super().__init__(log, "feedback", self._work, claim=CLAIM)
        self._listener = listener

    def detect_feedback(self, message_id: str) -> None:
        """Detect feedback in a message about the lessons that the answer before it was shown."""
        with self._log.reading() as reader:
            heard = feedback_input(reader, message_id)
        if heard is not None:
            thread_id, words = heard
            by = Context(actor=OWNER, session=f"thread-{thread_id}")  # the author of the message
            self._listener().detect(words, by=by)

    def _work(self, claim: Claim) -> None:
        after = max(0, self._log.head - MISSED)
        for fact in self._log.follow(after=after, stop=self.stopping):
            if not claim.held:
                return
            if isinstance(fact.event, MessageSent) and fact.actor == OWNER:
                self.detect_feedback(fact.event.message_id)


def feedback_input(reader: Reader, message_id: str) -> tuple[str, UserTurn] | None:
    """The thread and listener input of a message; None if it does not follow an answer."""
    try:
        said = threads.find_message(reader, message_id)
    except NotFound:  # it was deleted, or is on another branch
        return None
    if reader.record(said.position).actor != OWNER:
        return None
    before = threads.messages_around(reader, said.thread_id, message_id, BEFORE, "before").messages
    if not before or before[-1].role != "assistant" or not before[-1].turn_id:
        return None
    shown = _shown_lessons(reader, threads.find_turn(reader, before[-1].turn_id).context_id)
    if not shown:
        return None
    turns = tuple(
        EarlierTurn("assistant" if one.role == "assistant" else "user", one.text, one.said_at)
        for one in before
        if not one.hidden
    )
    heard = UserTurn(message_id, said.text, said.said_at, shown, turns, because=(said.position,))
    return said.thread_id, heard


def _shown_lessons(reader: Reader, context_id: str) -> tuple[CandidateLesson, ...]:
    """The lessons that a prompt contained."""
    if not context_id:
        return ()
    sections = [one for one in inspect_prompt(reader, context_id).sections if one.name == "lessons"]
    positions = [p for s in sections for one in s.pieces if not one.left_out for p in one.positions]
    return tuple(
        CandidateLesson(lesson.lesson_id, collapse_whitespace(lesson.description))
        for lesson in load_lessons(reader, positions)
    )
