"""Projections of conversations: threads, messages, turns, notes, summaries and model calls.

Every row belongs to one fact and has its position and branch. The text of messages is not copied
here: queries read it from the log, which stores it once.
"""

from datetime import datetime
from typing import ClassVar

import apsw

from everloop.log import Fact, Projection, on
from everloop.log.model.record import to_microseconds
from everloop.log.sql_rows import query_rows
from everloop.thread.model import events as e
from everloop.thread.model.calendar_windows import TimeZoneHistory
from everloop.usage.events import ModelCalled


class ThreadTables(Projection):
    """Threads, messages, phases of turns, tool calls, imports, time zones and summaries."""

    name = "thread_book"
    version = 4
    tables: ClassVar[tuple[str, ...]] = (
        "thread_threads",
        "thread_messages",
        "thread_turns",
        "thread_hidden",
        "thread_files",
        "thread_tools",
        "thread_imports",
        "thread_places",
        "thread_windows",
        "thread_instructions",
        "thread_reasoning",
    )
    schema = """
    CREATE TABLE thread_threads (
        position  INTEGER PRIMARY KEY,
        branch    TEXT NOT NULL,
        thread_id TEXT NOT NULL,
        act       TEXT NOT NULL,
        title     TEXT NOT NULL,
        at        INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX thread_threads_id ON thread_threads (thread_id, position);
    CREATE TABLE thread_messages (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        thread_id  TEXT NOT NULL,
        message_id TEXT NOT NULL,
        role       TEXT NOT NULL,
        turn_id    TEXT NOT NULL,
        state      TEXT NOT NULL,
        said_at    INTEGER NOT NULL,
        asked_at   INTEGER NOT NULL, -- of an answer: when its question was sent
        asked      INTEGER NOT NULL, -- and the position of that question
        day        TEXT NOT NULL
    ) STRICT;
    CREATE INDEX thread_messages_id ON thread_messages (message_id);
    CREATE INDEX thread_messages_order ON thread_messages (thread_id, asked_at, asked, position);
    CREATE INDEX thread_messages_day ON thread_messages (thread_id, day, position);
    CREATE TABLE thread_turns (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        thread_id  TEXT NOT NULL,
        turn_id    TEXT NOT NULL,
        phase      TEXT NOT NULL,
        message_id TEXT NOT NULL,
        answer_id  TEXT NOT NULL,
        model      TEXT NOT NULL,
        context_id TEXT NOT NULL,
        reason     TEXT NOT NULL,
        hint       TEXT NOT NULL
    ) STRICT;
    CREATE INDEX thread_turns_id ON thread_turns (turn_id, position);
    CREATE INDEX thread_turns_thread ON thread_turns (thread_id, position);
    CREATE TABLE thread_hidden (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        message_id TEXT NOT NULL,
        hidden     INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX thread_hidden_message ON thread_hidden (message_id, position);
    CREATE TABLE thread_files (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        message_id TEXT NOT NULL
    ) STRICT;
    CREATE INDEX thread_files_message ON thread_files (message_id, position);
    CREATE TABLE thread_tools (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        turn_id  TEXT NOT NULL,
        call_id  TEXT NOT NULL,
        name     TEXT NOT NULL,
        failed   INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX thread_tools_turn ON thread_tools (turn_id, position);
    CREATE TABLE thread_imports (
        position  INTEGER PRIMARY KEY,
        branch    TEXT NOT NULL,
        thread_id TEXT NOT NULL,
        import_id TEXT NOT NULL,
        source    TEXT NOT NULL,
        name      TEXT NOT NULL,
        messages  INTEGER NOT NULL,
        ended     INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX thread_imports_id ON thread_imports (import_id, position);
    CREATE TABLE thread_places (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        zone     TEXT NOT NULL,
        at       INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX thread_places_at ON thread_places (at, position);
    CREATE TABLE thread_windows (
        position  INTEGER PRIMARY KEY,
        branch    TEXT NOT NULL,
        thread_id TEXT NOT NULL,
        window    TEXT NOT NULL,
        item_id   TEXT NOT NULL,
        upto      INTEGER NOT NULL,
        reason    TEXT NOT NULL,
        at        INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX thread_windows_key ON thread_windows (thread_id, window, position);
    CREATE TABLE thread_instructions (
        position  INTEGER PRIMARY KEY,
        branch    TEXT NOT NULL,
        thread_id TEXT NOT NULL,
        text      TEXT NOT NULL,
        at        INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX thread_instructions_thread ON thread_instructions (thread_id, position);
    CREATE TABLE thread_reasoning (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        turn_id  TEXT NOT NULL
    ) STRICT;
    CREATE INDEX thread_reasoning_turn ON thread_reasoning (turn_id, position);
    """

    @on(
        e.ThreadOpened,
        e.ThreadRenamed,
        e.ThreadArchived,
        e.ThreadRestored,
        e.ThreadPinned,
        e.ThreadUnpinned,
    )
    def _insert_thread(self, db: apsw.Connection, happened: e.ThreadEvent, fact: Fact) -> None:
        act = happened.wire.rpartition("_")[2]
        row = (happened.thread_id, act, getattr(happened, "title", ""), fact.recorded_us)
        db.execute(
            "INSERT INTO thread_threads VALUES (?, ?, ?, ?, ?, ?)",
            (fact.position, fact.branch, *row),
        )

    @on(e.MessageSent)
    def _sent(self, db: apsw.Connection, new: e.MessageSent, fact: Fact) -> None:
        _insert_message(
            db, fact, (new.thread_id, new.message_id, "user", "", "sent", fact.recorded_us)
        )

    @on(e.MessageImported)
    def _imported(self, db: apsw.Connection, new: e.MessageImported, fact: Fact) -> None:
        said = to_microseconds(datetime.fromisoformat(new.said_at))
        _insert_message(db, fact, (new.thread_id, new.message_id, new.role, "", "imported", said))

    @on(e.ReportPosted)
    def _reported(self, db: apsw.Connection, new: e.ReportPosted, fact: Fact) -> None:
        row = (new.thread_id, new.message_id, "assistant", "", "report", fact.recorded_us)
        _insert_message(db, fact, row)

    @on(e.TurnRecorded)
    def _recorded(self, db: apsw.Connection, new: e.TurnRecorded, fact: Fact) -> None:
        _insert_turn(db, fact, new.thread_id, new.turn_id, "recorded", message_id=new.message_id)

    @on(e.TurnSending)
    def _sending(self, db: apsw.Connection, new: e.TurnSending, fact: Fact) -> None:
        named = {"answer_id": new.answer_id, "model": new.model, "context_id": new.context_id}
        _insert_turn(db, fact, new.thread_id, new.turn_id, "sending", **named)

    @on(e.TurnStreaming)
    def _streaming(self, db: apsw.Connection, new: e.TurnStreaming, fact: Fact) -> None:
        _insert_turn(db, fact, new.thread_id, new.turn_id, "streaming")

    @on(e.AnswerGiven)
    def _answer_given(self, db: apsw.Connection, new: e.AnswerGiven, fact: Fact) -> None:
        self._insert_answer(db, new, fact, "done", model=new.model, reason=new.finish)

    @on(e.TurnStopped)
    def _stopped(self, db: apsw.Connection, new: e.TurnStopped, fact: Fact) -> None:
        self._insert_answer(db, new, fact, "stopped")

    @on(e.TurnFailed)
    def _failed(self, db: apsw.Connection, new: e.TurnFailed, fact: Fact) -> None:
        self._insert_answer(db, new, fact, "failed", reason=new.reason, hint=new.hint)

    @on(e.TurnLeftUncertain)
    def _uncertain(self, db: apsw.Connection, new: e.TurnLeftUncertain, fact: Fact) -> None:
        self._insert_answer(db, new, fact, "uncertain")

    @on(e.MessageHidden, e.MessageUnhidden)
    def _hidden(
        self, db: apsw.Connection, new: e.MessageHidden | e.MessageUnhidden, fact: Fact
    ) -> None:
        db.execute(
            "INSERT INTO thread_hidden VALUES (?, ?, ?, ?)",
            (fact.position, fact.branch, new.message_id, isinstance(new, e.MessageHidden)),
        )

    @on(e.FilesFound)
    def _files_found(self, db: apsw.Connection, new: e.FilesFound, fact: Fact) -> None:
        row = (fact.position, fact.branch, new.message_id)
        db.execute("INSERT INTO thread_files VALUES (?, ?, ?)", row)

    @on(e.ToolUsed)
    def _tool_used(self, db: apsw.Connection, new: e.ToolUsed, fact: Fact) -> None:
        db.execute(
            "INSERT INTO thread_tools VALUES (?, ?, ?, ?, ?, ?)",
            (fact.position, fact.branch, new.turn_id, new.call_id, new.name, new.failed),
        )

    @on(e.ReasoningGiven)
    def _reasoning_given(self, db: apsw.Connection, new: e.ReasoningGiven, fact: Fact) -> None:
        row = (fact.position, fact.branch, new.turn_id)
        db.execute("INSERT INTO thread_reasoning VALUES (?, ?, ?)", row)

    @on(e.InstructionsSet)
    def _instructed(self, db: apsw.Connection, new: e.InstructionsSet, fact: Fact) -> None:
        row = (fact.position, fact.branch, new.thread_id, new.text, fact.recorded_us)
        db.execute("INSERT INTO thread_instructions VALUES (?, ?, ?, ?, ?)", row)

    @on(e.ZoneSet)
    def _zone_set(self, db: apsw.Connection, new: e.ZoneSet, fact: Fact) -> None:
        row = (fact.position, fact.branch, new.zone, fact.recorded_us)
        db.execute("INSERT INTO thread_places VALUES (?, ?, ?, ?)", row)

    @on(e.WindowSummarised)
    def _summarised(self, db: apsw.Connection, new: e.WindowSummarised, fact: Fact) -> None:
        row = (new.thread_id, new.window, new.item_id, new.upto, "", fact.recorded_us)
        db.execute(_INSERT_WINDOW, (fact.position, fact.branch, *row))

    @on(e.WindowFailed)
    def _not_summarised(self, db: apsw.Connection, new: e.WindowFailed, fact: Fact) -> None:
        row = (new.thread_id, new.window, "", new.upto, new.reason, fact.recorded_us)
        db.execute(_INSERT_WINDOW, (fact.position, fact.branch, *row))

    @on(e.ImportBegun)
    def _import_begun(self, db: apsw.Connection, new: e.ImportBegun, fact: Fact) -> None:
        row = (new.thread_id, new.import_id, new.source, new.name, 0, 0)
        db.execute(_INSERT_IMPORT, (fact.position, fact.branch, *row))

    @on(e.ImportEnded)
    def _import_ended(self, db: apsw.Connection, new: e.ImportEnded, fact: Fact) -> None:
        row = (new.thread_id, new.import_id, "", "", new.messages, 1)
        db.execute(_INSERT_IMPORT, (fact.position, fact.branch, *row))

    def _insert_answer(
        self,
        db: apsw.Connection,
        new: e.AnswerGiven | e.TurnStopped | e.TurnFailed | e.TurnLeftUncertain,
        fact: Fact,
        state: str,
        **named: str,
    ) -> None:
        """Insert the end of a turn, and its answer as a message unless it was never sent."""
        _insert_turn(db, fact, new.thread_id, new.turn_id, state, answer_id=new.message_id, **named)
        if new.message_id:
            row = (new.thread_id, new.message_id, "assistant", new.turn_id, state, fact.recorded_us)
            asked = query_rows(db, _QUESTION_OF_TURN, (new.turn_id,))
            _insert_message(db, fact, row, asked[0] if asked else None)


class ThreadNotes(Projection):
    """Topics, decisions and intents; important days; usage of model calls."""

    name = "thread_notes"
    version = 2
    tables: ClassVar[tuple[str, ...]] = (
        "thread_notes",
        "thread_days",
        "thread_calls",
    )
    schema = """
    CREATE TABLE thread_notes (
        position  INTEGER PRIMARY KEY,
        branch    TEXT NOT NULL,
        thread_id TEXT NOT NULL,
        note_id   TEXT NOT NULL,
        sort      TEXT NOT NULL,
        act       TEXT NOT NULL,
        text      TEXT NOT NULL,
        topic_id  TEXT NOT NULL,
        at        INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX thread_notes_id ON thread_notes (note_id, position);
    CREATE INDEX thread_notes_thread ON thread_notes (thread_id, sort, position);
    CREATE TABLE thread_days (
        position  INTEGER PRIMARY KEY,
        branch    TEXT NOT NULL,
        thread_id TEXT NOT NULL,
        day       TEXT NOT NULL,
        important INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX thread_days_day ON thread_days (thread_id, day, position);
    CREATE TABLE thread_calls (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        at         INTEGER NOT NULL,
        purpose    TEXT NOT NULL,
        model      TEXT NOT NULL,
        tokens_in  INTEGER NOT NULL,
        tokens_out INTEGER NOT NULL,
        cost_usd   REAL NOT NULL,
        duration_s REAL NOT NULL,
        turn_id    TEXT NOT NULL,
        tokens_cached INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX thread_calls_at ON thread_calls (at);
    CREATE INDEX thread_calls_turn ON thread_calls (turn_id) WHERE turn_id <> '';
    """

    @on(e.TopicOpened)
    def _opened(self, db: apsw.Connection, new: e.TopicOpened, fact: Fact) -> None:
        _insert_note(db, fact, (new.thread_id, new.topic_id, "topic", "opened", new.title, ""))

    @on(e.TopicNoted)
    def _noted(self, db: apsw.Connection, new: e.TopicNoted, fact: Fact) -> None:
        _insert_note(db, fact, (new.thread_id, new.topic_id, "topic", "noted", new.note, ""))

    @on(e.TopicClosed)
    def _closed(self, db: apsw.Connection, new: e.TopicClosed, fact: Fact) -> None:
        _insert_note(db, fact, (new.thread_id, new.topic_id, "topic", "closed", "", ""))

    @on(e.DecisionNoted)
    def _decided(self, db: apsw.Connection, new: e.DecisionNoted, fact: Fact) -> None:
        row = (new.thread_id, new.decision_id, "decision", "noted", new.text, new.topic_id)
        _insert_note(db, fact, row)

    @on(e.IntentNoted)
    def _intended(self, db: apsw.Connection, new: e.IntentNoted, fact: Fact) -> None:
        _insert_note(db, fact, (new.thread_id, new.intent_id, "intent", "noted", new.text, ""))

    @on(e.IntentSettled)
    def _settled(self, db: apsw.Connection, new: e.IntentSettled, fact: Fact) -> None:
        _insert_note(db, fact, (new.thread_id, new.intent_id, "intent", "closed", "", ""))

    @on(e.DayMarked)
    def _marked(self, db: apsw.Connection, new: e.DayMarked, fact: Fact) -> None:
        db.execute(
            "INSERT INTO thread_days VALUES (?, ?, ?, ?, ?)",
            (fact.position, fact.branch, new.thread_id, new.day, new.important),
        )

    @on(ModelCalled)
    def _called(self, db: apsw.Connection, new: ModelCalled, fact: Fact) -> None:
        row = (
            new.purpose,
            new.model,
            new.tokens_in,
            new.tokens_out,
            new.cost_usd,
            new.duration_s,
            new.turn_id,
            new.tokens_cached,
        )
        db.execute(
            "INSERT INTO thread_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (fact.position, fact.branch, fact.recorded_us, *row),
        )


_INSERT_WINDOW = "INSERT INTO thread_windows VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
# The time zone at a moment; before the first change, the zone that was set first.
_ZONE_AT = """
SELECT zone FROM (SELECT zone FROM thread_places WHERE at <= ?1 ORDER BY at DESC, position DESC
                  LIMIT 1)
UNION ALL SELECT zone FROM (SELECT zone FROM thread_places ORDER BY at, position LIMIT 1) LIMIT 1
"""
_QUESTION_OF_TURN = """
SELECT m.said_at, m.position
FROM thread_turns t JOIN thread_messages m ON m.message_id = t.message_id
WHERE t.turn_id = ? AND t.phase = 'recorded' LIMIT 1
"""
_INSERT_IMPORT = "INSERT INTO thread_imports VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


def _insert_message(
    db: apsw.Connection,
    fact: Fact,
    row: tuple[str, str, str, str, str, int],
    question: tuple[int, int] | None = None,
) -> None:
    """Insert a message with its local day in the person's time zone; that day never changes.

    An answer stands right after its `question`, whatever was sent in between.
    """
    said_at = row[-1]
    zones = [(said_at, zone) for (zone,) in query_rows(db, _ZONE_AT, (said_at,))]
    day = TimeZoneHistory(zones).local_date(said_at).isoformat()
    db.execute(
        "INSERT INTO thread_messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (fact.position, fact.branch, *row, *(question or (said_at, fact.position)), day),
    )


def _insert_turn(
    db: apsw.Connection, fact: Fact, thread_id: str, turn_id: str, phase: str, **named: str
) -> None:
    columns = ("message_id", "answer_id", "model", "context_id", "reason", "hint")
    rest = [named.get(column, "") for column in columns]
    db.execute(
        "INSERT INTO thread_turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (fact.position, fact.branch, thread_id, turn_id, phase, *rest),
    )


def _insert_note(db: apsw.Connection, fact: Fact, row: tuple[str, str, str, str, str, str]) -> None:
    db.execute(
        "INSERT INTO thread_notes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (fact.position, fact.branch, *row, fact.recorded_us),
    )
