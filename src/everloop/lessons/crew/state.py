"""The folded state of a skill, persona or team: only what decisions need."""

import msgspec

from everloop.errors import Corrupt
from everloop.lessons.crew.events import (
    CrewActivated,
    CrewArchived,
    CrewRemoved,
    CrewWritten,
    Profile,
)
from everloop.lessons.model.state import PROTECTED_AUTHORS
from everloop.log import Event, Fact, Fold
from everloop.memory.model.events import CitationClosed, Cited


class CrewEntry(msgspec.Struct, frozen=True):
    """An entry now. `position` is the fact that added it, on which later facts depend.

    `edited`: somebody changed what a pack added. `cited` are the memories that it cites, each with
    whether a user's entry cites it.
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
    def protected(self) -> bool:
        """Whether a user wrote it, or installed it with a pack."""
        return self.author in PROTECTED_AUTHORS


def evolve(entry: CrewEntry | None, fact: Fact) -> CrewEntry:
    """The entry after a fact."""
    event = fact.event
    if isinstance(event, CrewWritten):
        return _written(entry, event, fact)
    if entry is None:
        raise Corrupt(f"{event.wire} came before lessons.crew_written")
    return msgspec.structs.replace(entry, **_changes(entry, event))


def _written(entry: CrewEntry | None, new: CrewWritten, fact: Fact) -> CrewEntry:
    begins = entry is None or entry.status == "removed"
    return CrewEntry(
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


def _changes(entry: CrewEntry, event: Event) -> dict[str, object]:
    match event:
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


CREW_ENTRY = Fold("lessons.crew", CrewEntry, evolve)


def entry_stream(sort: str, name: str) -> str:
    """The stream of an entry, which is also its name in citations."""
    return f"{sort}:{name}"
