"""The commands on lessons, hosts and tasks. The actor comes from the door, never from a field."""

from everloop.lessons.model.events import Evidence, Narrative, Source
from everloop.lessons.settings import GateRules
from everloop.log import Command


class ProposeLesson(Command, frozen=True):
    """Propose a lesson. `author` is who it claims wrote it: `user`, `agent` or `pack`.

    A pack's lesson with a known `external_id` updates the text of that lesson. `because` are the
    facts that it was made from: if one is retracted, the lesson goes too.
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
    """Edit its text; None leaves a field as it is."""

    lesson_id: str
    description: str | None = None
    body: str | None = None


class NarrateLesson(Command, frozen=True):
    """Record why it holds. `model` is the model that wrote it; empty if written by hand."""

    lesson_id: str
    narrative: Narrative
    model: str = ""


class RefuseNarrative(Command, frozen=True):
    """Record that a model could not explain why it holds."""

    lesson_id: str
    reason: str
    model: str


class ActivateLesson(Command, frozen=True):
    """Activate it. `text_digest` is of the text that was seen; empty means the current text."""

    lesson_id: str
    text_digest: str = ""


class UseLesson(Command, frozen=True):
    """Record that an agent acted on it. `use_id` distinguishes two uses in one session."""

    lesson_id: str
    use_id: str = ""


class GiveFeedback(Command, frozen=True):
    """Record that it helped or harmed. The same `signal_id` counts once.

    `because` is the fact that the feedback was derived from, if it was not given explicitly.
    `text_digest` is of the lesson's text that was seen; empty means the current text. `words` is
    what the user said, verbatim: relayed praise supports a lesson only if a door heard it.
    """

    lesson_id: str
    helpful: bool
    signal_id: str
    channel: str = "thumbs"
    confidence: float = 1.0
    because: tuple[int, ...] = ()
    text_digest: str = ""
    words: str = ""


class WithdrawFeedback(Command, frozen=True):
    """Withdraw a feedback signal."""

    lesson_id: str
    signal_id: str


class RecordVerdict(Command, frozen=True):
    """Record a runner's verdict."""

    lesson_id: str
    passed: bool
    exit_code: int
    command: str
    output_digest: str
    text_digest: str  # of the text that was tried


class PromoteLesson(Command, frozen=True):
    """Ask the gate to promote it. A refusal is recorded too."""

    lesson_id: str


class DemoteLesson(Command, frozen=True):
    """Make a promoted lesson active again. `because` is the fact that ended the promotion."""

    lesson_id: str
    reason: str
    because: tuple[int, ...] = ()


class DiscardLesson(Command, frozen=True):
    """Discard it. `force` is needed if a user wrote it, and only the user may set it.

    `because` is the user's answer in the inbox, if the engine carries that out.
    """

    lesson_id: str
    reason: str = ""
    force: bool = False
    because: tuple[int, ...] = ()


class SupersedeLesson(Command, frozen=True):
    """Replace it by the lesson `by`. `force` is needed if a user wrote it."""

    lesson_id: str
    by: str
    force: bool = False


class ShowManifest(Command, frozen=True):
    """Record which lessons a host's model was shown."""

    lesson_ids: tuple[str, ...]
    context_id: str


class TrustHost(Command, frozen=True):
    """Trust a host to relay the user's words."""

    host: str


class SetGateRules(Command, frozen=True):
    """Set the thresholds of the gate in the log, where no settings file makes them looser."""

    rules: GateRules


class DistrustHost(Command, frozen=True):
    """Revoke the trust in a host."""

    host: str


class HearWords(Command, frozen=True):
    """Record what the user said to a host, as its hook or its transcript shows it."""

    host: str
    session: str
    text: str


class LogPhase(Command, frozen=True):
    """Record that a host reached a phase of its task."""

    task_id: str
    phase: str
    note: str = ""
