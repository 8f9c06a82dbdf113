"""The projection of the manifests that each session was shown: what feedback can be about."""

from typing import ClassVar

import apsw
import msgspec

from everloop.errors import NotFound
from everloop.lessons.feedback.turns import CandidateLesson
from everloop.lessons.model.events import ManifestShown
from everloop.lessons.projections.queries import find_lesson
from everloop.log import Context, Fact, Projection, Reader, on, visible
from everloop.memory.projections.queries import load_viewer


class SessionManifestTable(Projection):
    """The manifests that each session was shown."""

    name = "session_manifests"
    tables: ClassVar[tuple[str, ...]] = ("session_manifests",)
    schema = """
    CREATE TABLE session_manifests (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        actor      TEXT NOT NULL,
        session    TEXT NOT NULL,
        lesson_ids TEXT NOT NULL
    ) STRICT;
    CREATE INDEX session_manifests_session ON session_manifests (session, actor, position);
    """

    @on(ManifestShown)
    def _shown(self, db: apsw.Connection, new: ManifestShown, fact: Fact) -> None:
        ids = msgspec.json.encode(new.lesson_ids).decode()
        row = (fact.position, fact.branch, fact.actor, new.session, ids)
        db.execute("INSERT INTO session_manifests VALUES (?, ?, ?, ?, ?)", row)


def shown_lessons(reader: Reader, by: Context, *, limit: int) -> tuple[CandidateLesson, ...]:
    """The lessons that a session was shown and may still see, from the newest manifest on."""
    rows = reader.rows(
        f"SELECT lesson_ids FROM session_manifests m WHERE {visible('m')} AND session = ?"  # noqa: S608
        " AND actor = ? ORDER BY position DESC LIMIT ?",
        (by.session, by.actor, limit),
    )
    named = (name for row in rows for name in msgspec.json.decode(row[0], type=tuple[str, ...]))
    who = load_viewer(reader, by.actor)
    found: list[CandidateLesson] = []
    for lesson_id in list(dict.fromkeys(named))[:limit]:
        try:
            found.append(
                CandidateLesson(lesson_id, find_lesson(reader, who, lesson_id).description)
            )
        except NotFound:  # it was retracted since
            continue
    return tuple(found)
