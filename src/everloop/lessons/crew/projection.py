"""The projection of the crew: every version of every skill, persona and team."""

from typing import ClassVar

import apsw
import msgspec

from everloop.lessons.crew.events import (
    CrewActivated,
    CrewArchived,
    CrewRemoved,
    CrewWritten,
    Profile,
    Skill,
)
from everloop.log import Fact, Projection, on


class CrewTable(Projection):
    """Every version of every skill, persona and team, with its statuses."""

    name = "crew_book"
    tables: ClassVar[tuple[str, ...]] = ("crew_entries", "crew_marks")
    schema = """
    CREATE TABLE crew_entries (
        position    INTEGER PRIMARY KEY,
        branch      TEXT NOT NULL,
        sort        TEXT NOT NULL,
        name        TEXT NOT NULL,
        title       TEXT NOT NULL,
        description TEXT NOT NULL,
        activation  TEXT NOT NULL,
        paths       TEXT NOT NULL,
        scope       TEXT NOT NULL,
        author      TEXT NOT NULL,
        actor       TEXT NOT NULL,
        pack_id     TEXT NOT NULL,
        recorded_at INTEGER NOT NULL,
        evidence    TEXT NOT NULL,
        profile     TEXT NOT NULL
    ) STRICT;
    CREATE INDEX crew_entries_name ON crew_entries (sort, name, position);
    CREATE TABLE crew_marks (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        sort     TEXT NOT NULL,
        name     TEXT NOT NULL,
        status   TEXT NOT NULL
    ) STRICT;
    CREATE INDEX crew_marks_name ON crew_marks (sort, name, position);
    """

    @on(CrewWritten)
    def _written(self, db: apsw.Connection, new: CrewWritten, fact: Fact) -> None:
        skill = new.profile if isinstance(new.profile, Skill) else None
        db.execute(
            "INSERT INTO crew_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                fact.position,
                fact.branch,
                new.sort,
                new.name,
                entry_title(new.name, new.profile),
                new.profile.description,
                skill.activation if skill else "",
                _json(skill.paths if skill else ()),
                new.scope,
                new.author,
                fact.actor,
                new.pack_id,
                fact.recorded_us,
                _json(new.evidence),
                _json(new.profile),
            ),
        )
        self._mark(db, new, fact, new.status)

    @on(CrewActivated)
    def _activated(self, db: apsw.Connection, new: CrewActivated, fact: Fact) -> None:
        self._mark(db, new, fact, "active")

    @on(CrewArchived)
    def _archived(self, db: apsw.Connection, new: CrewArchived, fact: Fact) -> None:
        self._mark(db, new, fact, "archived")

    @on(CrewRemoved)
    def _removed(self, db: apsw.Connection, new: CrewRemoved, fact: Fact) -> None:
        self._mark(db, new, fact, "removed")

    def _mark(
        self,
        db: apsw.Connection,
        new: CrewWritten | CrewActivated | CrewArchived | CrewRemoved,
        fact: Fact,
        status: str,
    ) -> None:
        db.execute(
            "INSERT INTO crew_marks VALUES (?, ?, ?, ?, ?)",
            (fact.position, fact.branch, new.sort, new.name, status),
        )


def entry_title(name: str, profile: Profile) -> str:
    """The title of an entry; a skill's is its name."""
    return name if isinstance(profile, Skill) else profile.title


def _json(value: Profile | tuple[str, ...]) -> str:
    return msgspec.json.encode(value).decode()
