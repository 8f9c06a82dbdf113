"""The projections of lessons: texts, statuses, signals, and the full-text index.

Every row belongs to one fact and carries its position, so that a reader's sight can filter it. Rows
of one lesson share `lesson`, the position of its proposal.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import apsw
import msgspec

from everloop.lessons.model.events import (
    FeedbackGiven,
    FeedbackWithdrawn,
    LessonActivated,
    LessonDemoted,
    LessonDiscarded,
    LessonEdited,
    LessonEvent,
    LessonNarrated,
    LessonPromoted,
    LessonProposed,
    LessonSeeded,
    LessonSuperseded,
    LessonUsed,
    MemoryEvidence,
    Narrative,
    QuoteEvidence,
    VerdictRecorded,
)
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.model.state import text_digest
from everloop.log import Fact, Projection, on
from everloop.log.sql_rows import query_one, query_rows
from everloop.memory.text.analysis import index_terms


class LessonTable(Projection):
    """Every lesson: its texts, statuses, narratives and evidence."""

    name = "lesson_shelf"
    tables: ClassVar[tuple[str, ...]] = (
        "lessons",
        "lesson_texts",
        "lesson_statuses",
        "lesson_narratives",
        "lesson_evidence",
    )
    schema = """
    CREATE TABLE lessons (
        position     INTEGER PRIMARY KEY,
        branch       TEXT NOT NULL,
        lesson_id    TEXT NOT NULL,
        scope        TEXT NOT NULL,
        author       TEXT NOT NULL,
        actor        TEXT NOT NULL,
        session      TEXT NOT NULL,
        pack_id      TEXT NOT NULL,
        external_id  TEXT NOT NULL,
        target_skill TEXT NOT NULL,
        evidence     TEXT NOT NULL,
        source       TEXT NOT NULL,
        digest       TEXT NOT NULL,
        recorded_at  INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX lessons_id ON lessons (lesson_id);
    CREATE INDEX lessons_source ON lessons (digest) WHERE digest <> '';
    CREATE TABLE lesson_texts (
        position    INTEGER PRIMARY KEY,
        branch      TEXT NOT NULL,
        lesson      INTEGER NOT NULL,
        description TEXT NOT NULL,
        body        TEXT NOT NULL,
        digest      TEXT NOT NULL,
        actor       TEXT NOT NULL,
        session     TEXT NOT NULL,
        recorded_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX lesson_texts_lesson ON lesson_texts (lesson, position);
    CREATE TABLE lesson_statuses (
        position    INTEGER PRIMARY KEY,
        branch      TEXT NOT NULL,
        lesson      INTEGER NOT NULL,
        status      TEXT NOT NULL,
        note        TEXT NOT NULL,
        recorded_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX lesson_statuses_lesson ON lesson_statuses (lesson, position);
    CREATE INDEX lesson_statuses_status ON lesson_statuses (status, lesson);
    CREATE TABLE lesson_narratives (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        lesson     INTEGER NOT NULL,
        digest     TEXT NOT NULL,
        confidence TEXT NOT NULL,
        evidenced  INTEGER NOT NULL,
        narrative  TEXT NOT NULL,
        model      TEXT NOT NULL
    ) STRICT;
    CREATE INDEX lesson_narratives_lesson ON lesson_narratives (lesson, position);
    CREATE TABLE lesson_evidence (
        position INTEGER NOT NULL,
        item_id  TEXT NOT NULL,
        branch   TEXT NOT NULL,
        lesson   INTEGER NOT NULL,
        PRIMARY KEY (lesson, position, item_id)
    ) STRICT, WITHOUT ROWID;
    """

    @on(LessonProposed)
    def _proposed(self, db: apsw.Connection, new: LessonProposed, fact: Fact) -> None:
        source = msgspec.json.encode(new.source).decode() if new.source else ""
        db.execute(
            "INSERT INTO lessons VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                fact.position,
                fact.branch,
                new.lesson_id,
                new.scope,
                new.author,
                fact.actor,
                new.session,
                new.pack_id,
                new.external_id,
                new.target_skill,
                msgspec.json.encode(new.evidence).decode(),
                source,
                new.source.digest if new.source else "",
                fact.recorded_us,
            ),
        )
        self._text(db, new, fact, fact.position)
        self._status(db, fact, fact.position, Status.PENDING, "")
        self._evidence(db, new.evidence, fact, fact.position)

    @on(LessonEdited)
    def _edited(self, db: apsw.Connection, new: LessonEdited, fact: Fact) -> None:
        self._text(db, new, fact, fact.because[0])

    @on(
        LessonActivated,
        LessonPromoted,
        LessonSeeded,
        LessonDemoted,
        LessonDiscarded,
        LessonSuperseded,
    )
    def _moved(self, db: apsw.Connection, new: LessonEvent, fact: Fact) -> None:
        self._status(db, fact, _lesson_of(db, fact), *_status_and_note(new))

    @on(LessonNarrated)
    def _narrated(self, db: apsw.Connection, new: LessonNarrated, fact: Fact) -> None:
        db.execute(
            "INSERT INTO lesson_narratives VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                fact.position,
                fact.branch,
                fact.because[0],
                new.text_digest,
                new.narrative.confidence,
                int(has_evidence(new.narrative)),
                msgspec.json.encode(new.narrative).decode(),
                new.model,
            ),
        )
        self._evidence(db, new.narrative.evidence, fact, fact.because[0])

    def _text(
        self, db: apsw.Connection, new: LessonProposed | LessonEdited, fact: Fact, lesson: int
    ) -> None:
        db.execute(
            "INSERT INTO lesson_texts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                fact.position,
                fact.branch,
                lesson,
                new.description,
                new.body,
                text_digest(new.description, new.body),
                fact.actor,
                new.session,
                fact.recorded_us,
            ),
        )

    def _status(
        self, db: apsw.Connection, fact: Fact, lesson: int, status: Status, note: str
    ) -> None:
        db.execute(
            "INSERT INTO lesson_statuses VALUES (?, ?, ?, ?, ?, ?)",
            (fact.position, fact.branch, lesson, status.value, note, fact.recorded_us),
        )

    def _evidence(
        self, db: apsw.Connection, evidence: Sequence[object], fact: Fact, lesson: int
    ) -> None:
        named = {each.item_id for each in evidence if isinstance(each, MemoryEvidence)}
        for item_id in sorted(named):
            row = (fact.position, item_id, fact.branch, lesson)
            db.execute("INSERT INTO lesson_evidence VALUES (?, ?, ?, ?)", row)


class LessonSignals(Projection):
    """The signals of lessons: uses, feedback and verdicts."""

    name = "lesson_signals"
    tables: ClassVar[tuple[str, ...]] = (
        "lesson_uses",
        "lesson_feedback",
        "lesson_withdrawals",
        "lesson_verdicts",
    )
    schema = """
    CREATE TABLE lesson_uses (
        position    INTEGER PRIMARY KEY,
        branch      TEXT NOT NULL,
        lesson      INTEGER NOT NULL,
        digest      TEXT NOT NULL,
        actor       TEXT NOT NULL,
        session     TEXT NOT NULL,
        use_id      TEXT NOT NULL,
        recorded_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX lesson_uses_lesson ON lesson_uses (lesson, position);
    CREATE INDEX lesson_uses_same ON lesson_uses (lesson, session, use_id);
    CREATE TABLE lesson_feedback (
        position    INTEGER PRIMARY KEY,
        branch      TEXT NOT NULL,
        lesson      INTEGER NOT NULL,
        digest      TEXT NOT NULL,
        helpful     INTEGER NOT NULL,
        signal_id   TEXT NOT NULL,
        channel     TEXT NOT NULL,
        confidence  REAL NOT NULL,
        relayed     INTEGER NOT NULL,
        actor       TEXT NOT NULL,
        session     TEXT NOT NULL,
        recorded_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX lesson_feedback_lesson ON lesson_feedback (lesson, position);
    CREATE TABLE lesson_withdrawals (
        position  INTEGER PRIMARY KEY,
        branch    TEXT NOT NULL,
        lesson    INTEGER NOT NULL,
        signal_id TEXT NOT NULL
    ) STRICT;
    CREATE INDEX lesson_withdrawals_lesson ON lesson_withdrawals (lesson, signal_id);
    CREATE TABLE lesson_verdicts (
        position      INTEGER PRIMARY KEY,
        branch        TEXT NOT NULL,
        lesson        INTEGER NOT NULL,
        digest        TEXT NOT NULL,
        passed        INTEGER NOT NULL,
        exit_code     INTEGER NOT NULL,
        command       TEXT NOT NULL,
        output_digest TEXT NOT NULL,
        outside       INTEGER NOT NULL,
        actor         TEXT NOT NULL,
        recorded_at   INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX lesson_verdicts_lesson ON lesson_verdicts (lesson, position);
    """

    @on(LessonUsed)
    def _used(self, db: apsw.Connection, new: LessonUsed, fact: Fact) -> None:
        values = (new.text_digest, fact.actor, new.session, new.use_id)
        row = (fact.position, fact.branch, fact.because[0], *values, fact.recorded_us)
        db.execute("INSERT INTO lesson_uses VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    @on(FeedbackGiven)
    def _given(self, db: apsw.Connection, new: FeedbackGiven, fact: Fact) -> None:
        db.execute(
            "INSERT INTO lesson_feedback VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                fact.position,
                fact.branch,
                fact.because[0],
                new.text_digest,
                int(new.helpful),
                new.signal_id,
                new.channel,
                new.confidence,
                int(new.relayed),
                fact.actor,
                new.session,
                fact.recorded_us,
            ),
        )

    @on(FeedbackWithdrawn)
    def _withdrawn(self, db: apsw.Connection, new: FeedbackWithdrawn, fact: Fact) -> None:
        row = (fact.position, fact.branch, fact.because[0], new.signal_id)
        db.execute("INSERT INTO lesson_withdrawals VALUES (?, ?, ?, ?)", row)

    @on(VerdictRecorded)
    def _tried(self, db: apsw.Connection, new: VerdictRecorded, fact: Fact) -> None:
        db.execute(
            "INSERT INTO lesson_verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                fact.position,
                fact.branch,
                fact.because[0],
                new.text_digest,
                int(new.passed),
                new.exit_code,
                new.command,
                new.output_digest,
                int(new.outside),
                fact.actor,
                fact.recorded_us,
            ),
        )


class LessonFtsIndex(Projection):
    """The full-text index over the description and the body of every version of a lesson."""

    name = "lesson_words"
    version = 3
    tables: ClassVar[tuple[str, ...]] = ("lesson_words",)
    schema = """
    CREATE VIRTUAL TABLE lesson_words
        USING fts5 (description, body, content='', contentless_delete=1, tokenize='ascii');
    """

    @on(LessonProposed, LessonEdited)
    def _said(self, db: apsw.Connection, new: LessonProposed | LessonEdited, fact: Fact) -> None:
        db.execute(
            "INSERT INTO lesson_words (rowid, description, body) VALUES (?, ?, ?)",
            (fact.position, index_terms(new.description), index_terms(new.body)),
        )

    def forget(self, db: apsw.Connection, positions: Sequence[int]) -> None:
        """Delete the index entries, and compact the index so that no trace is left."""
        touched = 0
        for position in positions:
            db.execute("DELETE FROM lesson_words WHERE rowid = ?", (position,))
            touched += db.changes()
        if touched:
            db.execute("INSERT INTO lesson_words (lesson_words) VALUES ('optimize')")

    def dump(self, db: apsw.Connection) -> Iterator[tuple[Any, ...]]:
        """Every term of the index with its positions."""
        db.execute(
            "CREATE VIRTUAL TABLE temp.lesson_terms USING fts5vocab (main, lesson_words, instance)"
        )
        yield ("lesson_words", *sorted(query_rows(db, "SELECT * FROM temp.lesson_terms")))
        db.execute("DROP TABLE temp.lesson_terms")


def has_evidence(narrative: Narrative) -> bool:
    """Whether a narrative cites a memory, or has a quote that was found in one."""
    return any(not isinstance(each, QuoteEvidence) or each.found_in for each in narrative.evidence)


def _lesson_of(db: apsw.Connection, fact: Fact) -> int:
    """The lesson that a fact is about: the first of its sources that is a proposal."""
    known = "SELECT 1 FROM lessons WHERE position = ?"
    return next(source for source in fact.because if query_one(db, known, (source,)))


def _status_and_note(new: LessonEvent) -> tuple[Status, str]:
    match new:
        case LessonActivated():
            return Status.ACTIVE, ""
        case LessonDemoted(reason=reason):
            return Status.ACTIVE, reason
        case LessonPromoted():
            return Status.PROMOTED, ""
        case LessonSeeded(pack_id=pack_id):
            return Status.PROMOTED, pack_id
        case LessonDiscarded(reason=reason):
            return Status.DISCARDED, reason
        case LessonSuperseded(by=by):
            return Status.SUPERSEDED, by
        case _:
            raise AssertionError(f"{new.wire} does not change a status")
