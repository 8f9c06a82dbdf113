"""Projections of worlds: worlds, characters, messages with their versions, the timeline, lore.

Rows say which fact is about what; the text stays in the log, which stores it once.
"""

from collections.abc import Iterable
from typing import ClassVar

from everloop.log import Fact, Projection, RowInsert, adds
from everloop.worlds.model import effect_events as f
from everloop.worlds.model import events as e
from everloop.worlds.model import story_events as s

WorldEvent = e.WorldOpened | e.WorldRenamed | e.WorldArchived | e.WorldRestored
CharacterEvent = e.CharacterAuthored | e.CharacterRevised | e.CharacterRemoved | e.CharacterRestored
MessageMark = (
    e.MessageEdited | e.MessageHidden | e.MessageUnhidden | e.WitnessesCorrected | e.VersionChosen
)
TurnEvent = e.TurnRecorded | e.TurnSending | e.TurnStreaming | e.TurnFailed | e.TurnLeftUncertain
SceneEvent = e.SceneOpened | e.SceneDescribed | e.PresenceChanged | e.SceneClosed | e.DigestRecorded
StoryMark = s.EventPlanned | s.EventStarted | s.EventCompleted | s.EventCancelled | s.EventExpired
_WORLD = "INSERT INTO world_worlds VALUES (?, ?, ?, ?)"
_CHARACTER = "INSERT INTO world_characters VALUES (?, ?, ?, ?)"
_MESSAGE = "INSERT INTO world_messages VALUES (?, ?, ?, ?, ?, ?, ?)"
_TURN = "INSERT INTO world_turns VALUES (?, ?, ?, ?, ?, ?)"
_TIMELINE = "INSERT INTO world_timeline VALUES (?, ?, ?, ?, ?, ?)"
_EFFECTS = "INSERT INTO world_effects VALUES (?, ?, ?, ?, ?, ?, ?)"
_LORE = "INSERT INTO world_lore VALUES (?, ?, ?, ?, ?)"


class WorldTables(Projection):
    """Which facts are about which world, character, message, turn, scene and lore entry."""

    name = "worlds"
    version = 2
    tables: ClassVar[tuple[str, ...]] = (
        "world_worlds",
        "world_characters",
        "world_messages",
        "world_turns",
        "world_timeline",
        "world_lore",
        "world_effects",
    )
    schema = """
    CREATE TABLE world_worlds (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        world_id TEXT NOT NULL,
        act      TEXT NOT NULL
    ) STRICT;
    CREATE INDEX world_worlds_id ON world_worlds (world_id, position);
    CREATE TABLE world_characters (
        position     INTEGER PRIMARY KEY,
        branch       TEXT NOT NULL,
        character_id TEXT NOT NULL,
        act          TEXT NOT NULL
    ) STRICT;
    CREATE INDEX world_characters_id ON world_characters (character_id, position);
    CREATE TABLE world_messages (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        world_id   TEXT NOT NULL,
        scene_id   TEXT NOT NULL,
        message_id TEXT NOT NULL,
        version_id TEXT NOT NULL,
        act        TEXT NOT NULL
    ) STRICT;
    CREATE INDEX world_messages_id ON world_messages (message_id, position);
    CREATE INDEX world_messages_order ON world_messages (world_id, position);
    CREATE INDEX world_messages_scene ON world_messages (world_id, scene_id, position);
    CREATE TABLE world_turns (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        world_id   TEXT NOT NULL,
        turn_id    TEXT NOT NULL,
        message_id TEXT NOT NULL,
        phase      TEXT NOT NULL
    ) STRICT;
    CREATE INDEX world_turns_id ON world_turns (turn_id, position);
    CREATE INDEX world_turns_world ON world_turns (world_id, position);
    CREATE TABLE world_timeline (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        world_id TEXT NOT NULL,
        kind     TEXT NOT NULL,
        scene_id TEXT NOT NULL,
        subject  TEXT NOT NULL
    ) STRICT;
    CREATE INDEX world_timeline_order ON world_timeline (world_id, position);
    CREATE INDEX world_timeline_kind ON world_timeline (world_id, kind, position);
    CREATE INDEX world_timeline_scene ON world_timeline (world_id, scene_id, position);
    CREATE INDEX world_timeline_subject ON world_timeline (world_id, kind, subject, position);
    CREATE TABLE world_effects (
        position   INTEGER NOT NULL,
        branch     TEXT NOT NULL,
        world_id   TEXT NOT NULL,
        scene_id   TEXT NOT NULL,
        message_id TEXT NOT NULL,
        version_id TEXT NOT NULL,
        covered    TEXT NOT NULL,
        PRIMARY KEY (position, covered)
    ) STRICT;
    CREATE INDEX world_effects_message ON world_effects (message_id, version_id);
    CREATE INDEX world_effects_covered ON world_effects (covered);
    CREATE INDEX world_effects_scene ON world_effects (world_id, scene_id, position);
    CREATE TABLE world_lore (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        world_id TEXT NOT NULL,
        entry_id TEXT NOT NULL,
        act      TEXT NOT NULL
    ) STRICT;
    CREATE INDEX world_lore_entry ON world_lore (world_id, entry_id, position);
    """

    @adds(e.WorldOpened, e.WorldRenamed, e.WorldArchived, e.WorldRestored)
    def _world(self, happened: WorldEvent, fact: Fact) -> Iterable[RowInsert]:
        yield _WORLD, (fact.position, fact.branch, happened.world_id, _act(happened.wire))

    @adds(e.CharacterAuthored, e.CharacterRevised, e.CharacterRemoved, e.CharacterRestored)
    def _character(self, happened: CharacterEvent, fact: Fact) -> Iterable[RowInsert]:
        row = (fact.position, fact.branch, happened.character_id, _act(happened.wire))
        yield _CHARACTER, row

    @adds(e.MessageWritten)
    def _message(self, written: e.MessageWritten, fact: Fact) -> Iterable[RowInsert]:
        row = (written.world_id, written.scene_id, written.message_id, "", "written")
        yield _MESSAGE, (fact.position, fact.branch, *row)

    @adds(e.VersionRendered)
    def _version(self, version: e.VersionRendered, fact: Fact) -> Iterable[RowInsert]:
        row = (version.world_id, version.scene_id, version.message_id, version.version_id)
        yield _MESSAGE, (fact.position, fact.branch, *row, "rendered")
        turn = (version.world_id, version.turn_id, version.message_id, "rendered")
        yield _TURN, (fact.position, fact.branch, *turn)

    @adds(
        e.MessageEdited, e.MessageHidden, e.MessageUnhidden, e.WitnessesCorrected, e.VersionChosen
    )
    def _mark(self, mark: MessageMark, fact: Fact) -> Iterable[RowInsert]:
        version = getattr(mark, "version_id", "")
        row = (mark.world_id, "", mark.message_id, version, _act(mark.wire))
        yield _MESSAGE, (fact.position, fact.branch, *row)

    @adds(e.TurnRecorded, e.TurnSending, e.TurnStreaming, e.TurnFailed, e.TurnLeftUncertain)
    def _turn(self, turn: TurnEvent, fact: Fact) -> Iterable[RowInsert]:
        message_id = getattr(turn, "message_id", "")
        row = (turn.world_id, turn.turn_id, message_id, _act(turn.wire))
        yield _TURN, (fact.position, fact.branch, *row)

    @adds(e.SceneOpened, e.SceneDescribed, e.PresenceChanged, e.SceneClosed, e.DigestRecorded)
    def _scene(self, happened: SceneEvent, fact: Fact) -> Iterable[RowInsert]:
        yield _timeline(fact, happened.world_id, happened.scene_id, "")

    @adds(e.SceneSummarised)
    def _summary(self, summary: e.SceneSummarised, fact: Fact) -> Iterable[RowInsert]:
        yield _timeline(fact, summary.world_id, summary.scene_id, summary.witness)

    @adds(e.CastJoined, e.CastLeft)
    def _cast(self, happened: e.CastJoined | e.CastLeft, fact: Fact) -> Iterable[RowInsert]:
        yield _timeline(fact, happened.world_id, "", happened.character_id)

    @adds(e.EdgeShifted, e.EdgeRewritten)
    def _edge(self, happened: e.EdgeShifted | e.EdgeRewritten, fact: Fact) -> Iterable[RowInsert]:
        yield _timeline(fact, happened.world_id, "", f"{happened.source}>{happened.target}")

    @adds(e.GroupRewritten, s.TimeElided, s.TimeJumped)
    def _whole(
        self, happened: e.GroupRewritten | s.TimeElided | s.TimeJumped, fact: Fact
    ) -> Iterable[RowInsert]:
        yield _timeline(fact, happened.world_id, "", "")

    @adds(e.ActivityChanged, e.ConditionChanged)
    def _person(
        self, happened: e.ActivityChanged | e.ConditionChanged, fact: Fact
    ) -> Iterable[RowInsert]:
        yield _timeline(fact, happened.world_id, "", happened.who)

    @adds(s.EventPlanned, s.EventStarted, s.EventCompleted, s.EventCancelled, s.EventExpired)
    def _event(self, happened: StoryMark, fact: Fact) -> Iterable[RowInsert]:
        yield _timeline(fact, happened.world_id, "", happened.event_id)

    @adds(s.PropIntroduced)
    def _prop(self, introduced: s.PropIntroduced, fact: Fact) -> Iterable[RowInsert]:
        yield _timeline(fact, introduced.world_id, "", introduced.prop.prop_id)

    @adds(s.PropMoved)
    def _prop_moved(self, moved: s.PropMoved, fact: Fact) -> Iterable[RowInsert]:
        yield _timeline(fact, moved.world_id, "", moved.prop_id)

    @adds(s.BelongingDropped)
    def _dropped(self, dropped: s.BelongingDropped, fact: Fact) -> Iterable[RowInsert]:
        yield _timeline(fact, dropped.world_id, "", dropped.holder)

    @adds(s.PlotOpened, s.PlotUpdated, s.PlotClosed)
    def _plot(
        self, happened: s.PlotOpened | s.PlotUpdated | s.PlotClosed, fact: Fact
    ) -> Iterable[RowInsert]:
        yield _timeline(fact, happened.world_id, "", happened.plot_id)

    @adds(s.OffstageRemembered)
    def _offstage(self, remembered: s.OffstageRemembered, fact: Fact) -> Iterable[RowInsert]:
        yield _timeline(fact, remembered.world_id, "", remembered.witness)

    @adds(f.EffectsExtracted, f.ExtractionFailed)
    def _effects(
        self, read: f.EffectsExtracted | f.ExtractionFailed, fact: Fact
    ) -> Iterable[RowInsert]:
        row = (read.world_id, read.scene_id, read.message_id, read.version_id)
        for covered in dict.fromkeys((*read.messages, read.message_id)):
            yield _EFFECTS, (fact.position, fact.branch, *row, covered)
        yield _timeline(fact, read.world_id, read.scene_id, read.message_id)

    @adds(f.EffectsRefused)
    def _refused(self, refused: f.EffectsRefused, fact: Fact) -> Iterable[RowInsert]:
        yield _timeline(fact, refused.world_id, "", refused.message_id)

    @adds(s.LoreEntrySet)
    def _lore(self, told: s.LoreEntrySet, fact: Fact) -> Iterable[RowInsert]:
        row = (fact.position, fact.branch, told.world_id, told.entry.entry_id, "set")
        yield _LORE, row

    @adds(s.LoreEntryRemoved)
    def _lore_removed(self, gone: s.LoreEntryRemoved, fact: Fact) -> Iterable[RowInsert]:
        yield _LORE, (fact.position, fact.branch, gone.world_id, gone.entry_id, "removed")


def _act(wire: str) -> str:
    """What happened, in a word: `chosen` of `worlds.version_chosen`."""
    return wire.rpartition("_")[2]


def _timeline(fact: Fact, world_id: str, scene_id: str, subject: str) -> RowInsert:
    kind = fact.event.wire.partition(".")[2]
    return _TIMELINE, (fact.position, fact.branch, world_id, kind, scene_id, subject)
