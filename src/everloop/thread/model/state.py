"""State of a conversation for its deciders: only what is open, so it stays small over years."""

import msgspec

from everloop.errors import Corrupt
from everloop.log import Event, Fact, Fold
from everloop.thread.model.events import (
    AnswerGiven,
    AnswerSaved,
    DayMarked,
    ImportBegun,
    ImportEnded,
    InstructionsSet,
    IntentNoted,
    IntentSettled,
    MessageImported,
    ThreadArchived,
    ThreadOpened,
    ThreadPinned,
    ThreadRenamed,
    ThreadRestored,
    ThreadUnpinned,
    TopicClosed,
    TopicOpened,
    TurnFailed,
    TurnLeftUncertain,
    TurnRecorded,
    TurnSending,
    TurnStopped,
    TurnStreaming,
    ZoneSet,
)
from everloop.turns.settings import AS_CONFIGURED, AnswerOptions

BUILT_IN = "offline"  # the model that is always there; its answers are never material
WAITING, SENDING, STREAMING = "recorded", "sending", "streaming"


class OpenTurn(msgspec.Struct, frozen=True):
    """A turn that has not ended. `since` is the position at which its current phase began."""

    turn_id: str
    message_id: str
    position: int
    since: int
    phase: str = WAITING
    answer_id: str = ""
    conductor: str = ""
    text: str = ""
    options: AnswerOptions = AS_CONFIGURED


class EndedAnswer(msgspec.Struct, frozen=True):
    """The recorded answer of a turn that has ended."""

    answer_id: str
    position: int
    turn_position: int
    text: str


class ImportState(msgspec.Struct, frozen=True):
    """An import: the position where it began, and how many messages it brought in."""

    position: int
    messages: int = 0
    ended: bool = False


class Conversation(msgspec.Struct, frozen=True):
    """The current state of a conversation. Open turns are in queue order."""

    position: int
    title: str
    archived: bool = False
    pinned: bool = False
    turns: tuple[OpenTurn, ...] = ()
    imports: dict[str, ImportState] = {}
    topics: dict[str, int] = {}
    intents: dict[str, int] = {}
    important: frozenset[str] = frozenset()

    def turn(self, turn_id: str) -> OpenTurn | None:
        """The open turn with this id, if there is one."""
        return next((turn for turn in self.turns if turn.turn_id == turn_id), None)

    @property
    def next_turn(self) -> OpenTurn | None:
        """The turn that may be sent now: the first one, if it is still queued."""
        first = self.turns[0] if self.turns else None
        return first if first is not None and first.phase == WAITING else None


def evolve(known: Conversation | None, fact: Fact) -> Conversation:
    """The conversation after an event."""
    if isinstance(fact.event, ThreadOpened):
        return Conversation(fact.position, fact.event.title)
    if known is None:
        raise Corrupt(f"{fact.event.wire} came before thread.thread_opened")
    changes = _turn_changes(known, fact) or _other_changes(known, fact)
    return msgspec.structs.replace(known, **changes) if changes else known


def _turn_changes(known: Conversation, fact: Fact) -> dict[str, object]:
    match fact.event:
        case TurnRecorded(turn_id=turn_id, message_id=message_id, options=options):
            new = OpenTurn(turn_id, message_id, fact.position, fact.position, options=options)
            return {"turns": (*known.turns, new)}
        case TurnSending(turn_id=turn_id, answer_id=answer_id, conductor=conductor):
            now = {"phase": SENDING, "answer_id": answer_id, "conductor": conductor}
            return _with_turn_changed(known, turn_id, since=fact.position, **now)
        case TurnStreaming(turn_id=turn_id):
            return _with_turn_changed(known, turn_id, since=fact.position, phase=STREAMING)
        case AnswerSaved(turn_id=turn_id, text=text):
            turn = known.turn(turn_id)
            return _with_turn_changed(known, turn_id, text=turn.text + text) if turn else {}
        case (
            AnswerGiven(turn_id=turn_id)
            | TurnStopped(turn_id=turn_id)
            | TurnFailed(turn_id=turn_id)
            | TurnLeftUncertain(turn_id=turn_id)
        ):
            return {"turns": tuple(turn for turn in known.turns if turn.turn_id != turn_id)}
        case _:
            return {}


def _with_turn_changed(known: Conversation, turn_id: str, **changes: object) -> dict[str, object]:
    return {
        "turns": tuple(
            msgspec.structs.replace(turn, **changes) if turn.turn_id == turn_id else turn
            for turn in known.turns
        )
    }


def _other_changes(known: Conversation, fact: Fact) -> dict[str, object]:
    return _title_changes(fact.event) or _import_changes(known, fact) or _note_changes(known, fact)


def _title_changes(happened: Event) -> dict[str, object]:
    match happened:
        case ThreadRenamed(title=title):
            return {"title": title}
        case ThreadArchived():
            return {"archived": True}
        case ThreadRestored():
            return {"archived": False}
        case ThreadPinned() | ThreadUnpinned():
            return {"pinned": isinstance(happened, ThreadPinned)}
        case _:
            return {}


def _import_changes(known: Conversation, fact: Fact) -> dict[str, object]:
    match fact.event:
        case ImportBegun(import_id=import_id):
            return {"imports": {**known.imports, import_id: ImportState(fact.position)}}
        case MessageImported():
            name = _import_of(known, fact)
            before = known.imports[name]
            after = msgspec.structs.replace(before, messages=before.messages + 1)
            return {"imports": {**known.imports, name: after}}
        case ImportEnded(import_id=import_id):
            done = msgspec.structs.replace(known.imports[import_id], ended=True)
            return {"imports": {**known.imports, import_id: done}}
        case _:
            return {}


def _import_of(known: Conversation, fact: Fact) -> str:
    for name, one in known.imports.items():
        if one.position in fact.because:
            return name
    raise Corrupt(f"{fact.event.wire} at {fact.position} does not belong to an import")


def _note_changes(known: Conversation, fact: Fact) -> dict[str, object]:
    match fact.event:
        case TopicOpened(topic_id=topic_id):
            return {"topics": {**known.topics, topic_id: fact.position}}
        case TopicClosed(topic_id=topic_id):
            return {"topics": {key: at for key, at in known.topics.items() if key != topic_id}}
        case IntentNoted(intent_id=intent_id):
            return {"intents": {**known.intents, intent_id: fact.position}}
        case IntentSettled(intent_id=intent_id):
            return {"intents": {key: at for key, at in known.intents.items() if key != intent_id}}
        case DayMarked(day=day, important=important):
            return {"important": known.important | {day} if important else known.important - {day}}
        case _:
            return {}


CONVERSATION = Fold("thread.conversation", Conversation, evolve)


class TimeZoneState(msgspec.Struct, frozen=True):
    """The person's current time zone."""

    zone: str


def evolve_time_zone(known: TimeZoneState | None, fact: Fact) -> TimeZoneState:
    """The time zone after an event."""
    if isinstance(fact.event, ZoneSet):
        return TimeZoneState(fact.event.zone)
    if known is None:
        raise Corrupt(f"{fact.event.wire} came before thread.zone_set")
    return known


TIME_ZONE = Fold("thread.place", TimeZoneState, evolve_time_zone)
TIME_ZONE_STREAM = "place"


class InstructionsState(msgspec.Struct, frozen=True):
    """The user's instructions for a thread, or for all."""

    text: str


def evolve_instructions(known: InstructionsState | None, fact: Fact) -> InstructionsState:
    """The instructions after an event."""
    if isinstance(fact.event, InstructionsSet):
        return InstructionsState(fact.event.text)
    if known is None:
        raise Corrupt(f"{fact.event.wire} came before thread.instructions_set")
    return known


INSTRUCTIONS = Fold("thread.instructions", InstructionsState, evolve_instructions)


def instructions_stream(thread_id: str) -> str:
    """The stream of the instructions for a thread; outside its tree, so no rewind loses them."""
    return f"instructions:{thread_id}" if thread_id else "instructions"


class EmptyState(msgspec.Struct, frozen=True):
    """The empty state of a stream whose deciders need no history."""


def evolve_empty_state(_: EmptyState | None, fact: Fact) -> EmptyState:
    """The empty state, whatever happened."""
    del fact
    return EmptyState()


# Not in the tree of the thread: a summary is visible wherever its sources are, so that rewinding
# does not lose the summaries of earlier messages.
PYRAMID = Fold("thread.pyramid", EmptyState, evolve_empty_state)
PYRAMID_STREAM = "pyramid"


def thread_stream(thread_id: str) -> str:
    """The stream of a thread, which is also the root of its branch tree."""
    return f"thread:{thread_id}"


def thread_id_of_stream(stream: str) -> str:
    """The thread id of a stream; empty if it is not the stream of a thread."""
    return stream.removeprefix("thread:") if stream.startswith("thread:") else ""
