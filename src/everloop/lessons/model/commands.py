"""What can be asked of a lesson. Who asks is the door's to say, never a field here."""

from everloop.lessons.model.events import Evidence, Narrative, Source
from everloop.log import Command


class ProposeLesson(Command, frozen=True):
    """Put a rule forward. `author` is whose words it claims to be: `user`, `agent` or `pack`.

    A pack's lesson with an `external_id` that is known already changes that lesson's words.
    `because` is where the words were recorded that it was made from: without them it is gone too.
    """

    lesson_id: str
    description: str
    body: str
    scope: str = "user"
    author: str = "agent"
    evidence: tuple[Evidence, ...] = ()
    pack_id: str = ""
    external_id: str = ""
    seed_as_promoted: bool = False
    source: Source | None = None
    target_skill: str = ""
    because: tuple[int, ...] = ()


class EditLesson(Command, frozen=True):
    """Change its words; what is None stays."""

    lesson_id: str
    description: str | None = None
    body: str | None = None


class NarrateLesson(Command, frozen=True):
    """Say why it holds. `model` names the model that wrote it; empty: by hand."""

    lesson_id: str
    narrative: Narrative
    model: str = ""


class RefuseNarrative(Command, frozen=True):
    """Note that a model could not say why it holds."""

    lesson_id: str
    reason: str
    model: str


class ActivateLesson(Command, frozen=True):
    """Put it on trial. `text_digest` is of the words that were seen; empty: as they are now."""

    lesson_id: str
    text_digest: str = ""


class UseLesson(Command, frozen=True):
    """Note that an agent acted on it. `use_id` tells two uses of one session apart."""

    lesson_id: str
    use_id: str = ""


class GiveFeedback(Command, frozen=True):
    """Say that it helped or harmed. The same `signal_id` counts once.

    `because` is where the words it was heard in were weighed, if it was not said outright.
    `text_digest` is of the lesson's words that were seen; empty: as they are now.
    """

    lesson_id: str
    helpful: bool
    signal_id: str
    channel: str = "thumbs"
    confidence: float = 1.0
    because: tuple[int, ...] = ()
    text_digest: str = ""


class WithdrawFeedback(Command, frozen=True):
    """Take a signal back."""

    lesson_id: str
    signal_id: str


class RecordVerdict(Command, frozen=True):
    """Note what a runner found."""

    lesson_id: str
    passed: bool
    exit_code: int
    command: str
    output_digest: str
    text_digest: str  # of the words that were tried


class PromoteLesson(Command, frozen=True):
    """Ask the gate. A refusal is a receipt too."""

    lesson_id: str


class DemoteLesson(Command, frozen=True):
    """Put a promoted lesson on trial again. `because` is the fact that ended it, if one did."""

    lesson_id: str
    reason: str
    because: tuple[int, ...] = ()


class DiscardLesson(Command, frozen=True):
    """Let it go. `force` is a user's word against what a user wrote."""

    lesson_id: str
    reason: str = ""
    force: bool = False


class SupersedeLesson(Command, frozen=True):
    """Let another take its place."""

    lesson_id: str
    by: str
    force: bool = False


class ShowManifest(Command, frozen=True):
    """Note which lessons a host's model was shown."""

    lesson_ids: tuple[str, ...]
    context_id: str


class TrustHost(Command, frozen=True):
    """Let a host pass on the user's words."""

    host: str


class DistrustHost(Command, frozen=True):
    """Let it no longer."""

    host: str


class LogPhase(Command, frozen=True):
    """Note that a host reached a phase of its task."""

    task_id: str
    phase: str
    note: str = ""
