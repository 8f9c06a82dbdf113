"""The folded state of a lesson, a host, a task and a manifest: only what decisions need."""

import hashlib

import msgspec

from everloop.errors import Corrupt
from everloop.lessons.model.events import (
    FeedbackGiven,
    FeedbackWithdrawn,
    GateRulesSet,
    HostDistrusted,
    HostTrusted,
    LessonActivated,
    LessonDemoted,
    LessonDiscarded,
    LessonEdited,
    LessonPromoted,
    LessonProposed,
    LessonSeeded,
    LessonSuperseded,
    ManifestShown,
    PhaseLogged,
    PromotionRefused,
    WordsHeard,
)
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.settings import GateRules
from everloop.log import Event, Fact, Fold
from everloop.memory.model.events import CitationClosed, Cited

PROTECTED_AUTHORS = ("user", "pack")  # authors whose lessons only the user may retire


class FeedbackSignal(msgspec.Struct, frozen=True):
    """Feedback that was given; `open` until it is withdrawn."""

    position: int
    actor: str
    signal_id: str
    helpful: bool
    open: bool = True


class Lesson(msgspec.Struct, frozen=True):
    """A lesson now. `position` is its proposal, on which every later fact depends.

    `writer` and `words_at` are the actor and the position of the current text. `cites` maps each
    cited memory to the position at which it was remembered. `promoted_at` is the last promotion and
    `grounds` the facts that it depends on; both stay after a demotion, which may be retracted.
    `refused` are the reasons of the last refusal.
    """

    position: int
    lesson_id: str
    author: str
    writer: str
    words_at: int
    description: str
    body: str
    scope: str
    pack_id: str
    external_id: str
    status: Status = Status.PENDING
    superseded_by: str = ""
    promoted_at: int = 0
    grounds: tuple[int, ...] = ()
    refused: tuple[str, ...] = ()
    cites: dict[str, int] = {}
    signals: tuple[FeedbackSignal, ...] = ()

    @property
    def digest(self) -> str:
        """The digest of the current text; uses, feedback, verdicts and narratives refer to it."""
        return text_digest(self.description, self.body)

    @property
    def protected(self) -> bool:
        """Whether a user wrote it, or installed it with a pack."""
        return self.author in PROTECTED_AUTHORS


def text_digest(description: str, body: str) -> str:
    """The digest of a lesson's text."""
    words = msgspec.json.encode((description, body))
    return hashlib.sha256(words).hexdigest()[:32]


def evolve(lesson: Lesson | None, fact: Fact) -> Lesson:
    """The lesson after a fact."""
    event = fact.event
    if isinstance(event, LessonProposed):
        return Lesson(
            position=fact.position,
            lesson_id=event.lesson_id,
            author=event.author,
            writer=fact.actor,
            words_at=fact.position,
            description=event.description,
            body=event.body,
            scope=event.scope,
            pack_id=event.pack_id,
            external_id=event.external_id,
        )
    if lesson is None:
        raise Corrupt(f"{event.wire} came before {LessonProposed.wire}")
    changes = _text_and_status(event, fact) or _signals_and_citations(lesson, event, fact)
    return msgspec.structs.replace(lesson, **changes)


def _text_and_status(event: Event, fact: Fact) -> dict[str, object]:
    """What a fact changes about the text and the status."""
    changes: dict[str, object] = {}
    match event:
        case LessonEdited(description=description, body=body):
            changes = {
                "description": description,
                "body": body,
                "writer": fact.actor,
                "words_at": fact.position,
            }
        case LessonActivated():
            changes = {"status": Status.ACTIVE}
        case LessonPromoted() | LessonSeeded():
            changes = {
                "status": Status.PROMOTED,
                "promoted_at": fact.position,
                "grounds": fact.because,
            }
        case LessonDemoted():
            changes = {"status": Status.ACTIVE}
        case LessonDiscarded():
            changes = {"status": Status.DISCARDED}
        case LessonSuperseded(by=by):
            changes = {"status": Status.SUPERSEDED, "superseded_by": by}
        case _:
            pass
    return {**changes, "refused": ()} if changes else {}


def _signals_and_citations(lesson: Lesson, event: Event, fact: Fact) -> dict[str, object]:
    """What a fact changes about the signals, the citations and the last refusal."""
    changes: dict[str, object] = {}
    match event:
        case FeedbackGiven(signal_id=signal_id, helpful=helpful):
            given = FeedbackSignal(fact.position, fact.actor, signal_id, helpful)
            changes = {"signals": (*lesson.signals, given)}
        case FeedbackWithdrawn(signal_id=closed):
            changes = {"signals": tuple(_close(signal, closed) for signal in lesson.signals)}
        case Cited(item_id=item_id):
            changes = {"cites": {**lesson.cites, item_id: fact.because[0]}}
        case CitationClosed(item_id=item_id):
            changes = {"cites": {k: v for k, v in lesson.cites.items() if k != item_id}}
        case PromotionRefused(reasons=reasons):
            changes = {"refused": reasons}
        case _:
            pass
    return changes


def _close(signal: FeedbackSignal, signal_id: str) -> FeedbackSignal:
    if signal.signal_id != signal_id:
        return signal
    return msgspec.structs.replace(signal, open=False)


LESSON = Fold("lessons.lesson", Lesson, evolve, version=2)


class HostState(msgspec.Struct, frozen=True):
    """Whether the user trusts a host to relay their words, and the position of that fact."""

    trusted: bool
    trusted_at: int = 0


def evolve_host(host: HostState | None, fact: Fact) -> HostState:
    """The host after a fact. Other facts than trust and distrust change nothing."""
    if isinstance(fact.event, HostTrusted):
        return HostState(True, fact.position)
    if isinstance(fact.event, HostDistrusted) or host is None:
        return HostState(False)
    return host


HOST = Fold("lessons.host", HostState, evolve_host)


def evolve_rules(rules: GateRules | None, fact: Fact) -> GateRules:
    """The gate's rules in the log after a fact."""
    if isinstance(fact.event, GateRulesSet):
        return rules_in(fact.event)
    return rules or GateRules()


def rules_in(event: GateRulesSet) -> GateRules:
    """The rules that an event holds."""
    return GateRules(**msgspec.structs.asdict(event))


GATE_RULES = Fold("lessons.gate_rules", GateRules, evolve_rules)
RULES_STREAM = "gate:rules"


class HeardWords(msgspec.Struct, frozen=True):
    """Digests of the words that were heard in a session."""

    digests: frozenset[str] = frozenset()


def evolve_words(heard: HeardWords | None, fact: Fact) -> HeardWords:
    """The heard words after a fact."""
    known = heard or HeardWords()
    if isinstance(fact.event, WordsHeard):
        return HeardWords(known.digests | {text_digest("", fact.event.text)})
    return known


WORDS = Fold("lessons.words", HeardWords, evolve_words)


class TaskState(msgspec.Struct, frozen=True):
    """The phases that a task has reached, each with the actor that logged it."""

    phases: tuple[tuple[str, str], ...] = ()


def evolve_task(task: TaskState | None, fact: Fact) -> TaskState:
    """The task after a fact."""
    known = task or TaskState()
    if isinstance(fact.event, PhaseLogged):
        return TaskState((*known.phases, (fact.actor, fact.event.phase)))
    return known


TASK = Fold("lessons.task", TaskState, evolve_task, version=2)


class ManifestState(msgspec.Struct, frozen=True):
    """The lessons that a manifest showed."""

    lesson_ids: tuple[str, ...] = ()


def evolve_manifest(shown: ManifestState | None, fact: Fact) -> ManifestState:
    """The manifest after a fact."""
    known = shown or ManifestState()
    return ManifestState(fact.event.lesson_ids) if isinstance(fact.event, ManifestShown) else known


MANIFEST = Fold("lessons.shown", ManifestState, evolve_manifest)


def lesson_stream(lesson_id: str) -> str:
    """The stream of a lesson."""
    return f"lesson:{lesson_id}"


def host_stream(host: str) -> str:
    """The stream of a host's trust."""
    return f"host:{host}"


def words_stream(host: str, session: str) -> str:
    """The stream of the user's words in a session of a host."""
    return f"words:{host}:{session}"


def task_stream(task_id: str) -> str:
    """The stream of the phases of a host's task; `task:` is that of workers' tasks."""
    return f"host-task:{task_id}"


def manifest_stream(context_id: str) -> str:
    """The stream of one manifest."""
    return f"manifest:{context_id}"
