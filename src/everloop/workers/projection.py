"""Tables of tasks: which there are, which are open, what was spent, and where transcripts lie.

`worker_tasks.open` is a hint from the newest end or retry on any branch, so that 10,000 finished
tasks cost nothing. What a task's state is, its fold says.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import apsw

from everloop.log import Fact, Projection, RowInsert, adds, on
from everloop.log.sql_rows import query_rows
from everloop.workers.model import events as e

_RECOUNT = """
UPDATE worker_tasks SET open = ifnull((
    SELECT n.open FROM worker_ends n WHERE n.task_id = worker_tasks.task_id
    ORDER BY n.position DESC LIMIT 1), 1)
"""


class TaskTable(Projection):
    """Tasks, their ends, their spending and their transcripts."""

    name = "worker_tasks"
    version = 2
    tables: ClassVar[tuple[str, ...]] = (
        "worker_tasks",
        "worker_ends",
        "worker_spending",
        "worker_transcripts",
    )
    schema = """
    CREATE TABLE worker_tasks (
        position  INTEGER PRIMARY KEY,
        branch    TEXT NOT NULL,
        task_id   TEXT NOT NULL,
        parent_id TEXT NOT NULL,
        thread_id TEXT NOT NULL,
        open      INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX worker_tasks_id ON worker_tasks (task_id);
    CREATE INDEX worker_tasks_parent ON worker_tasks (parent_id) WHERE parent_id <> '';
    CREATE INDEX worker_tasks_thread ON worker_tasks (thread_id, position) WHERE thread_id <> '';
    CREATE INDEX worker_tasks_open ON worker_tasks (position) WHERE open = 1;
    CREATE TABLE worker_ends (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        task_id  TEXT NOT NULL,
        open     INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX worker_ends_task ON worker_ends (task_id, position);
    CREATE TABLE worker_spending (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        task_id  TEXT NOT NULL,
        cost_usd REAL NOT NULL,
        tokens   INTEGER NOT NULL,
        at       INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX worker_spending_at ON worker_spending (at);
    CREATE TABLE worker_transcripts (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        task_id  TEXT NOT NULL,
        attempt  INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX worker_transcripts_task ON worker_transcripts (task_id, position);
    """

    def forget(self, db: apsw.Connection, positions: Sequence[int]) -> None:
        """Delete the rows of purged facts, and look again which tasks are open."""
        super().forget(db, positions)
        db.execute(_RECOUNT)

    @on(e.TaskProposed)
    def _proposed(self, db: apsw.Connection, new: e.TaskProposed, fact: Fact) -> None:
        row = (new.task_id, new.spec.parent_id, new.spec.thread_id)
        db.execute(
            "INSERT INTO worker_tasks VALUES (?, ?, ?, ?, ?, 1)",
            (fact.position, fact.branch, *row),
        )

    @on(e.TaskDone, e.TaskFailed, e.TaskCancelled, e.TaskLeftUncertain, e.TaskDismissed)
    def _ended(
        self,
        db: apsw.Connection,
        new: e.TaskDone | e.TaskFailed | e.TaskCancelled | e.TaskLeftUncertain | e.TaskDismissed,
        fact: Fact,
    ) -> None:
        _mark(db, fact, new.task_id, is_open=False)

    @on(e.TaskRetried)
    def _retried(self, db: apsw.Connection, new: e.TaskRetried, fact: Fact) -> None:
        _mark(db, fact, new.task_id, is_open=True)

    @on(e.SpendingRecorded)
    def _spent(self, db: apsw.Connection, new: e.SpendingRecorded, fact: Fact) -> None:
        db.execute(
            "INSERT INTO worker_spending VALUES (?, ?, ?, ?, ?, ?)",
            (
                fact.position,
                fact.branch,
                new.task_id,
                new.cost_usd,
                new.tokens,
                fact.recorded_us,
            ),
        )

    @on(e.TranscriptRecorded)
    def _transcript(self, db: apsw.Connection, new: e.TranscriptRecorded, fact: Fact) -> None:
        db.execute(
            "INSERT INTO worker_transcripts VALUES (?, ?, ?, ?)",
            (fact.position, fact.branch, new.task_id, new.attempt),
        )


class TranscriptWords(Projection):
    """The full-text index over what workers showed; a row for each recorded part."""

    name = "worker_transcript_words"
    tables: ClassVar[tuple[str, ...]] = ("worker_transcript_words",)
    schema = """
    CREATE VIRTUAL TABLE worker_transcript_words
        USING fts5 (said, content='', contentless_delete=1, tokenize='unicode61');
    """

    @adds(e.TranscriptRecorded)
    def _recorded(self, new: e.TranscriptRecorded, fact: Fact) -> Iterator[RowInsert]:
        said = "\n".join(
            filter(None, (text for one in new.entries for text in (one.name, one.text)))
        )
        yield (
            "INSERT INTO worker_transcript_words (rowid, said) VALUES (?, ?)",
            (fact.position, said),
        )

    def forget(self, db: apsw.Connection, positions: Sequence[int]) -> None:
        """Delete the index entries, and compact the index so that no trace is left."""
        touched = 0
        for position in positions:
            db.execute("DELETE FROM worker_transcript_words WHERE rowid = ?", (position,))
            touched += db.changes()
        if touched:
            db.execute(
                "INSERT INTO worker_transcript_words (worker_transcript_words) VALUES ('optimize')"
            )

    def dump(self, db: apsw.Connection) -> Iterator[tuple[Any, ...]]:
        """Every term of the index with its positions."""
        db.execute(
            "CREATE VIRTUAL TABLE temp.worker_terms"
            " USING fts5vocab (main, worker_transcript_words, instance)"
        )
        yield (
            "worker_transcript_words",
            *sorted(query_rows(db, "SELECT * FROM temp.worker_terms")),
        )
        db.execute("DROP TABLE temp.worker_terms")


def _mark(db: apsw.Connection, fact: Fact, task_id: str, *, is_open: bool) -> None:
    db.execute(
        "INSERT INTO worker_ends VALUES (?, ?, ?, ?)",
        (fact.position, fact.branch, task_id, int(is_open)),
    )
    db.execute("UPDATE worker_tasks SET open = ? WHERE task_id = ?", (int(is_open), task_id))
