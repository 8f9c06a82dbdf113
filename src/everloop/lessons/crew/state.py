"""What decisions about one skill, persona or team need to know of it."""

import msgspec

from everloop.errors import Corrupt
from everloop.lessons.crew.events import (
    CrewActivated,
    CrewArchived,
    CrewRemoved,
    CrewWritten,
    Profile,
)
from everloop.lessons.model.state import IMMUNE
from everloop.log import Event, Fact, Fold
from everloop.memory.model.events import CitationClosed, Cited


class Entry(msgspec.Struct, frozen=True):
    """An entry as it stands. `position` is where it was first written: later facts stand on it.

    `edited` says that somebody changed what a pack brought. `cited` are the memories with an open
    link from it, each with whether that link is a user's.
    """

    position: int
    profile: Profile
    scope: str
    status: str
    author: str
    actor: str
    evidence: tuple[str, ...]
    pack_id: str
    edited: bool = False
    cited: frozenset[tuple[str, bool]] = frozenset()

    @property
    def immune(self) -> bool:
        """Whether a user wrote it, or installed it with a pack."""
        return self.author in IMMUNE


def evolve(entry: Entry | None, fact: Fact) -> Entry:
    """The entry after a fact."""
    happened = fact.event
    if isinstance(happened, CrewWritten):
        return _written(entry, happened, fact)
    if entry is None:
        raise Corrupt(f"{happened.wire} came before lessons.crew_written")
    return msgspec.structs.replace(entry, **_changes(entry, happened))


def _written(entry: Entry | None, new: CrewWritten, fact: Fact) -> Entry:
    begins = entry is None or entry.status == "removed"
    return Entry(
        position=fact.position if entry is None or begins else entry.position,
        profile=new.profile,
        scope=new.scope,
        status=new.status,
        author=new.author,
        actor=fact.actor,
        evidence=new.evidence,
        pack_id=new.pack_id if entry is None or begins else entry.pack_id,
        edited=not begins and not new.pack_id,
        cited=frozenset() if entry is None or begins else entry.cited,
    )


def _changes(entry: Entry, happened: Event) -> dict[str, object]:
    match happened:
        case CrewActivated():
            return {"status": "active"}
        case CrewArchived():
            return {"status": "archived"}
        case CrewRemoved():
            return {"status": "removed"}
        case Cited(item_id=item_id, by_user=by_user):
            return {"cited": entry.cited | {(item_id, by_user)}}
        case CitationClosed(item_id=closed):
            return {"cited": frozenset(link for link in entry.cited if link[0] != closed)}
        case _:
            return {}


ENTRY = Fold("lessons.crew", Entry, evolve)


def stream_of(sort: str, name: str) -> str:
    """The stream of an entry, which is also the name under which it cites."""
    return f"{sort}:{name}"
