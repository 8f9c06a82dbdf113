"""What can be asked of a conversation."""

from everloop.log import Command
from everloop.thread.model.events import Attachment, MessageImported

HOME = "home"
HOME_TITLE = "Home"


class OpenThread(Command, frozen=True):
    """Begin a conversation. `because`: what brought it here, if it came from elsewhere."""

    thread_id: str
    title: str
    because: tuple[int, ...] = ()


class RenameThread(Command, frozen=True):
    """Give it another title."""

    thread_id: str
    title: str


class ArchiveThread(Command, frozen=True):
    """Put it away."""

    thread_id: str


class RestoreThread(Command, frozen=True):
    """Take it out again."""

    thread_id: str


class SendMessage(Command, frozen=True):
    """Say something and want an answer; without a `turn_id`, say it without wanting one."""

    thread_id: str
    message_id: str
    text: str
    turn_id: str = ""
    attachments: tuple[Attachment, ...] = ()
    device: str = ""


class RecordTurn(Command, frozen=True):
    """Want an answer to a message that was sent before."""

    thread_id: str
    turn_id: str
    message_id: str


class BeginSending(Command, frozen=True):
    """Take a turn that waits, to send it. Whoever comes second gets nothing."""

    thread_id: str
    turn_id: str
    answer_id: str
    model: str
    context_id: str
    conductor: str
    because: tuple[int, ...] = ()


class BeginStreaming(Command, frozen=True):
    """Note that the first words came."""

    thread_id: str
    turn_id: str


class SaveAnswer(Command, frozen=True):
    """Keep what came of an answer since it was last saved."""

    thread_id: str
    turn_id: str
    text: str


class RecordToolUse(Command, frozen=True):
    """Note what a tool was asked and gave."""

    thread_id: str
    turn_id: str
    call_id: str
    name: str
    arguments: str
    result: str
    failed: bool = False


class GiveAnswer(Command, frozen=True):
    """End a turn with its answer."""

    thread_id: str
    turn_id: str
    text: str
    model: str
    finish: str = "stop"


class StopTurn(Command, frozen=True):
    """End a turn because a person wants it so. `text` is what had come of it."""

    thread_id: str
    turn_id: str
    text: str = ""


class FailTurn(Command, frozen=True):
    """End a turn because the model failed."""

    thread_id: str
    turn_id: str
    text: str
    reason: str
    hint: str = ""


class LeaveUncertain(Command, frozen=True):
    """End a turn whose process is gone."""

    thread_id: str
    turn_id: str


class HideMessage(Command, frozen=True):
    """Fold a message away."""

    thread_id: str
    message_id: str


class UnhideMessage(Command, frozen=True):
    """Show it again."""

    thread_id: str
    message_id: str


class OpenImport(Command, frozen=True):
    """Say that conversations from elsewhere come in. Whatever they bring stands on this."""

    import_id: str
    source: str
    name: str


class EndImport(Command, frozen=True):
    """Say that all of them are in."""

    import_id: str
    messages: int


class BeginImport(Command, frozen=True):
    """Say that some of what comes in belongs to this thread. `because` is where it was opened."""

    thread_id: str
    import_id: str
    source: str
    name: str
    because: tuple[int, ...] = ()


class ImportMessages(Command, frozen=True):
    """Take some of them in. What came in before is passed over."""

    thread_id: str
    import_id: str
    messages: tuple[MessageImported, ...]


class AddFiles(Command, frozen=True):
    """Put files beside a message that was imported without them. Those that are there stay."""

    thread_id: str
    import_id: str
    message_id: str
    attachments: tuple[Attachment, ...]


class OpenTopic(Command, frozen=True):
    """Begin something to come back to."""

    thread_id: str
    topic_id: str
    title: str
    because: tuple[int, ...] = ()


class NoteTopic(Command, frozen=True):
    """Say where a topic stands now."""

    thread_id: str
    topic_id: str
    note: str
    because: tuple[int, ...] = ()


class CloseTopic(Command, frozen=True):
    """Settle it."""

    thread_id: str
    topic_id: str


class NoteDecision(Command, frozen=True):
    """Keep what was decided."""

    thread_id: str
    decision_id: str
    text: str
    topic_id: str = ""
    because: tuple[int, ...] = ()


class NoteIntent(Command, frozen=True):
    """Keep what is to be done next."""

    thread_id: str
    intent_id: str
    text: str
    because: tuple[int, ...] = ()


class SettleIntent(Command, frozen=True):
    """Say that it was done, or is no longer wanted."""

    thread_id: str
    intent_id: str


class MarkDay(Command, frozen=True):
    """Say whether a day matters more than others."""

    thread_id: str
    day: str
    important: bool = True


class NoteSummary(Command, frozen=True):
    """Say which item holds a stretch of the past in fewer words."""

    thread_id: str
    window: str
    item_id: str
    upto: int
    because: tuple[int, ...] = ()


class NoteNoSummary(Command, frozen=True):
    """Say that there is none yet, and why."""

    thread_id: str
    window: str
    upto: int
    reason: str
    because: tuple[int, ...] = ()


class SetZone(Command, frozen=True):
    """Say where the person is."""

    zone: str


class RecordModelCall(Command, frozen=True):
    """Keep what a call of a model took."""

    purpose: str
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float = -1.0
    duration_s: float = 0.0
    turn_id: str = ""
    because: tuple[int, ...] = ()
