"""Commands of a conversation: threads, turns, imports, notes and summaries."""

from everloop.log import Command
from everloop.thread.model.events import Attachment, MessageImported
from everloop.turns.settings import AS_CONFIGURED, AnswerOptions

HOME = "home"
HOME_TITLE = "Home"


class OpenThread(Command, frozen=True):
    """Create a thread. `because` is the import it came from, if any."""

    thread_id: str
    title: str
    because: tuple[int, ...] = ()


class RenameThread(Command, frozen=True):
    """Change the title of a thread."""

    thread_id: str
    title: str


class ArchiveThread(Command, frozen=True):
    """Archive a thread."""

    thread_id: str


class RestoreThread(Command, frozen=True):
    """Restore an archived thread."""

    thread_id: str


class PinThread(Command, frozen=True):
    """Pin a thread, so that lists show it first."""

    thread_id: str


class UnpinThread(Command, frozen=True):
    """Unpin a thread."""

    thread_id: str


class SendMessage(Command, frozen=True):
    """Send a message and request an answer; without a `turn_id`, no answer is requested."""

    thread_id: str
    message_id: str
    text: str
    turn_id: str = ""
    attachments: tuple[Attachment, ...] = ()
    device: str = ""
    options: AnswerOptions = AS_CONFIGURED


class PostReport(Command, frozen=True):
    """Tell in a thread how something ended. The same message id is told once."""

    thread_id: str
    message_id: str
    text: str
    subject: str
    because: tuple[int, ...] = ()


class RecordTurn(Command, frozen=True):
    """Request an answer to a message that was sent before."""

    thread_id: str
    turn_id: str
    message_id: str
    options: AnswerOptions = AS_CONFIGURED


class BeginSending(Command, frozen=True):
    """Claim the next queued turn, to send it. Of two processes that try, one succeeds."""

    thread_id: str
    turn_id: str
    answer_id: str
    model: str
    context_id: str
    conductor: str
    because: tuple[int, ...] = ()


class BeginStreaming(Command, frozen=True):
    """Record that the first text of the answer arrived."""

    thread_id: str
    turn_id: str


class SaveAnswer(Command, frozen=True):
    """Save the text of an answer that arrived since the last save."""

    thread_id: str
    turn_id: str
    text: str


class RecordToolUse(Command, frozen=True):
    """Record a tool call and its result."""

    thread_id: str
    turn_id: str
    call_id: str
    name: str
    arguments: str
    result: str
    failed: bool = False


class RecordReasoning(Command, frozen=True):
    """Record what the model thought before it answered."""

    thread_id: str
    turn_id: str
    text: str


class GiveAnswer(Command, frozen=True):
    """End a turn with its complete answer."""

    thread_id: str
    turn_id: str
    text: str
    model: str
    finish: str = "stop"


class StopTurn(Command, frozen=True):
    """End a turn because a person asks for it. `text` is the answer so far."""

    thread_id: str
    turn_id: str
    text: str = ""


class TruncateAnswer(Command, frozen=True):
    """Keep only the part of an answer that a person heard before they interrupted it.

    It also ends a turn whose answer still streams.
    """

    thread_id: str
    turn_id: str
    heard: str


class FailTurn(Command, frozen=True):
    """End a turn because the model failed."""

    thread_id: str
    turn_id: str
    text: str
    reason: str
    hint: str = ""


class LeaveUncertain(Command, frozen=True):
    """End a turn that a crashed process had sent; its outcome is unknown."""

    thread_id: str
    turn_id: str


class HideMessage(Command, frozen=True):
    """Hide a message."""

    thread_id: str
    message_id: str


class UnhideMessage(Command, frozen=True):
    """Show a hidden message again."""

    thread_id: str
    message_id: str


class OpenImport(Command, frozen=True):
    """Begin an import. Everything it brings in derives from this."""

    import_id: str
    source: str
    name: str


class EndImport(Command, frozen=True):
    """Record that an import is complete."""

    import_id: str
    messages: int


class BeginImport(Command, frozen=True):
    """Begin the part of an import that belongs to one thread. `because` is the import itself."""

    thread_id: str
    import_id: str
    source: str
    name: str
    because: tuple[int, ...] = ()


class ImportMessages(Command, frozen=True):
    """Import messages into a thread. Messages that were imported before are skipped."""

    thread_id: str
    import_id: str
    messages: tuple[MessageImported, ...]


class AddFiles(Command, frozen=True):
    """Attach files to a message that was imported without them. Existing ones stay."""

    thread_id: str
    import_id: str
    message_id: str
    attachments: tuple[Attachment, ...]


class OpenTopic(Command, frozen=True):
    """Open a topic: something to come back to."""

    thread_id: str
    topic_id: str
    title: str
    because: tuple[int, ...] = ()


class NoteTopic(Command, frozen=True):
    """Note the current state of a topic."""

    thread_id: str
    topic_id: str
    note: str
    because: tuple[int, ...] = ()


class CloseTopic(Command, frozen=True):
    """Close a topic."""

    thread_id: str
    topic_id: str


class NoteDecision(Command, frozen=True):
    """Note a decision."""

    thread_id: str
    decision_id: str
    text: str
    topic_id: str = ""
    because: tuple[int, ...] = ()


class NoteIntent(Command, frozen=True):
    """Note an intent: something still to do."""

    thread_id: str
    intent_id: str
    text: str
    because: tuple[int, ...] = ()


class SettleIntent(Command, frozen=True):
    """Close an intent: it was done, or is no longer wanted."""

    thread_id: str
    intent_id: str


class MarkDay(Command, frozen=True):
    """Mark a day as important, or remove the mark."""

    thread_id: str
    day: str
    important: bool = True


class NoteSummary(Command, frozen=True):
    """Record which memory item has the summary of a time window."""

    thread_id: str
    window: str
    item_id: str
    upto: int
    because: tuple[int, ...] = ()


class NoteNoSummary(Command, frozen=True):
    """Record that summarising a time window failed, and why."""

    thread_id: str
    window: str
    upto: int
    reason: str
    because: tuple[int, ...] = ()


class SetInstructions(Command, frozen=True):
    """Set the user's instructions for a thread, or for all if `thread_id` is empty."""

    thread_id: str
    text: str


class SetZone(Command, frozen=True):
    """Set the person's time zone."""

    zone: str
