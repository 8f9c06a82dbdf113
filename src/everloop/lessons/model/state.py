"""What decisions about one lesson, one host or one task need to know of it."""

import hashlib

import msgspec

from everloop.errors import Corrupt
from everloop.lessons.model.events import (
    FeedbackGiven,
    FeedbackWithdrawn,
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
)
from everloop.lessons.model.lifecycle import Status
from everloop.log import Event, Fact, Fold
from everloop.memory.model.events import CitationClosed, Cited

IMMUNE = ("user", "pack")  # authors whose lessons only the user's word retires


class Signal(msgspec.Struct, frozen=True):
    """Praise or blame that was given, and whether it still stands."""

    position: int
    actor: str
    signal_id: str
    helpful: bool
    open: bool = True


class Lesson(msgspec.Struct, frozen=True):
    """A lesson as it stands. `position` is its proposal: every later fact stands on that one.

    `writer` is whoever wrote the words that hold now, and `words_at` where. `cites` maps each
    memory that it stands on to where that was taken in. `promoted_at` is its last promotion and
    `grounds` what that stands on, also after a demotion, which may be taken back; `refused`, why
    the gate last said no.
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
    signals: tuple[Signal, ...] = ()

    @property
    def digest(self) -> str:
        """What uses, praise, verdicts and narratives of these very words are bound to."""
        return text_digest(self.description, self.body)

    @property
    def immune(self) -> bool:
        """Whether a user wrote it, or installed it."""
        return self.author in IMMUNE


def text_digest(description: str, body: str) -> str:
    """A name for a lesson's very words."""
    words = msgspec.json.encode((description, body))
    return hashlib.sha256(words).hexdigest()[:32]


def evolve(lesson: Lesson | None, fact: Fact) -> Lesson:
    """The lesson after a fact."""
    happened = fact.event
    if isinstance(happened, LessonProposed):
        return Lesson(
            position=fact.position,
            lesson_id=happened.lesson_id,
            author=happened.author,
            writer=fact.actor,
            words_at=fact.position,
            description=happened.description,
            body=happened.body,
            scope=happened.scope,
            pack_id=happened.pack_id,
            external_id=happened.external_id,
        )
    if lesson is None:
        raise Corrupt(f"{happened.wire} came before {LessonProposed.wire}")
    changes = _standing(happened, fact) or _marks(lesson, happened, fact)
    return msgspec.structs.replace(lesson, **changes)


def _standing(happened: Event, fact: Fact) -> dict[str, object]:
    """What a fact changes about its words and its status."""
    changes: dict[str, object] = {}
    match happened:
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


def _marks(lesson: Lesson, happened: Event, fact: Fact) -> dict[str, object]:
    """What a fact changes about its signals, its citations and the last refusal."""
    changes: dict[str, object] = {}
    match happened:
        case FeedbackGiven(signal_id=signal_id, helpful=helpful):
            given = Signal(fact.position, fact.actor, signal_id, helpful)
            changes = {"signals": (*lesson.signals, given)}
        case FeedbackWithdrawn(signal_id=closed):
            changes = {"signals": tuple(_closed(signal, closed) for signal in lesson.signals)}
        case Cited(item_id=item_id):
            changes = {"cites": {**lesson.cites, item_id: fact.because[0]}}
        case CitationClosed(item_id=item_id):
            changes = {"cites": {k: v for k, v in lesson.cites.items() if k != item_id}}
        case PromotionRefused(reasons=reasons):
            changes = {"refused": reasons}
        case _:
            pass
    return changes


def _closed(signal: Signal, signal_id: str) -> Signal:
    if signal.signal_id != signal_id:
        return signal
    return msgspec.structs.replace(signal, open=False)


LESSON = Fold("lessons.lesson", Lesson, evolve, version=2)


class Host(msgspec.Struct, frozen=True):
    """Whether the user trusts a host to pass on their words, and where they last said that."""

    trusted: bool
    trusted_at: int = 0


def evolve_host(host: Host | None, fact: Fact) -> Host:
    """The host after a fact. What is not about trust changes nothing."""
    if isinstance(fact.event, HostTrusted):
        return Host(True, fact.position)
    if isinstance(fact.event, HostDistrusted) or host is None:
        return Host(False)
    return host


HOST = Fold("lessons.host", Host, evolve_host)


class Task(msgspec.Struct, frozen=True):
    """The phases that a task has reached."""

    phases: tuple[str, ...] = ()


def evolve_task(task: Task | None, fact: Fact) -> Task:
    """The task after a fact."""
    known = task or Task()
    if isinstance(fact.event, PhaseLogged):
        return Task((*known.phases, fact.event.phase))
    return known


TASK = Fold("lessons.task", Task, evolve_task)


class Shown(msgspec.Struct, frozen=True):
    """The lessons that a manifest held."""

    lesson_ids: tuple[str, ...] = ()


def evolve_shown(shown: Shown | None, fact: Fact) -> Shown:
    """What was shown after a fact."""
    known = shown or Shown()
    return Shown(fact.event.lesson_ids) if isinstance(fact.event, ManifestShown) else known


SHOWN = Fold("lessons.shown", Shown, evolve_shown)


def lesson_stream(lesson_id: str) -> str:
    """The stream of a lesson."""
    return f"lesson:{lesson_id}"


def host_stream(host: str) -> str:
    """The stream of what the user said of a host."""
    return f"host:{host}"


def task_stream(task_id: str) -> str:
    """The stream of a task's phases."""
    return f"task:{task_id}"


def manifest_stream(context_id: str) -> str:
    """The stream of one manifest."""
    return f"manifest:{context_id}"
