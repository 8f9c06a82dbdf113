"""Decisions about skills, personas and teams: pure, from the entry's state and who asks.

An agent may write what it likes, as a draft. What is in use was put there by the user, or by a host
that the user trusts to pass on their words. What a user wrote, or installed with a pack, goes only
by their word.
"""

import msgspec

from everloop.errors import Conflict, Forbidden, NotFound
from everloop.lessons.crew.commands import (
    ActivateEntry,
    ArchiveEntry,
    EnlistEntry,
    RemoveEntry,
    ReviseEntry,
)
from everloop.lessons.crew.events import (
    CrewActivated,
    CrewArchived,
    CrewRemoved,
    CrewWritten,
    Sort,
)
from everloop.lessons.crew.state import Entry, stream_of
from everloop.lessons.crew.validation import check_name, check_profile
from everloop.lessons.model.decision_context import around, check_speaks_for_user, speaks_for_user
from everloop.lessons.model.state import IMMUNE
from everloop.log import Asking, Draft
from everloop.memory.model.events import CitationClosed, Cited
from everloop.memory.model.scopes import OWNER, check_scope

Links = frozenset[tuple[str, bool]]  # a memory, and whether a user's words stand on it
EntryCommand = EnlistEntry | ReviseEntry | ActivateEntry | ArchiveEntry | RemoveEntry


def enlist_entry(entry: Entry | None, command: EnlistEntry, asking: Asking) -> list[Draft]:
    """Take it in. A pack's own is written anew, unless it was retired or changed here."""
    check_name(command.name)
    if entry is not None and entry.status != "removed":
        return _enlist_again(entry, command, asking)
    if entry is not None and command.pack_id:
        return []  # the user let it go; a pack does not bring it back
    if entry is not None and not speaks_for_user(asking):
        raise Forbidden(
            f"the {command.sort} {command.name!r} was let go",
            hint="Only the user can bring it back, or use another name.",
        )
    return _written(None, _new(command, asking), asking)


def revise_entry(entry: Entry | None, command: ReviseEntry, asking: Asking) -> list[Draft]:
    """Write it anew, if anything is different. What an agent changed is a draft again."""
    known = _present(entry, command.sort, command.name)
    _check_may_revise(known, command, asking)
    kept = known.status == "archived" or speaks_for_user(asking)
    new = CrewWritten(
        sort=command.sort,
        name=command.name,
        profile=known.profile if command.profile is None else command.profile,
        scope=known.scope if command.scope is None else check_scope(command.scope),
        status=known.status if kept else "draft",
        author="user" if asking.by.actor == OWNER else known.author,
        session=asking.by.session,
        evidence=known.evidence if command.evidence is None else command.evidence,
        pack_id="",
    )
    return [] if _same(known, new) else _written(known, new, asking)


def activate_entry(entry: Entry | None, command: ActivateEntry, asking: Asking) -> list[Draft]:
    """Put it to use, also from the archive. Only the user's word does that."""
    known = _present(entry, command.sort, command.name)
    if known.status == "active":
        return []
    check_speaks_for_user(asking, f"put the {command.sort} {command.name!r} to use")
    activated = Draft(CrewActivated(command.sort, command.name), (known.position,))
    wanted = frozenset((item_id, known.immune) for item_id in known.evidence)
    return [activated, *_relinked(command, known.cited, wanted, asking)]


def archive_entry(entry: Entry | None, command: ArchiveEntry, asking: Asking) -> list[Draft]:
    """Put it out of use; what it stood on is released in the same append."""
    known = _present(entry, command.sort, command.name)
    if known.status == "archived":
        return []
    forced = _forced(known, command, asking)
    archived = CrewArchived(command.sort, command.name, command.reason, forced)
    released = _relinked(command, known.cited, frozenset(), asking)
    return [Draft(archived, (known.position,)), *released]


def remove_entry(entry: Entry | None, command: RemoveEntry, asking: Asking) -> list[Draft]:
    """Let it go, with what it stood on. Asking twice is harmless."""
    if entry is not None and entry.status == "removed":
        return []
    known = _present(entry, command.sort, command.name)
    forced = _forced(known, command, asking)
    removed = CrewRemoved(command.sort, command.name, command.reason, forced)
    released = _relinked(command, known.cited, frozenset(), asking)
    return [Draft(removed, (known.position,)), *released]


# -- inside ----------------------------------------------------------------------------------------


def _enlist_again(entry: Entry, command: EnlistEntry, asking: Asking) -> list[Draft]:
    if not command.pack_id or command.pack_id != entry.pack_id:
        raise Conflict(
            f"there is a {command.sort} {command.name!r} already",
            hint="Revise that one, or use another name.",
        )
    if entry.edited or entry.status == "archived":
        return []  # the user's word wins over the pack's
    new = _new(command, asking)
    if not speaks_for_user(asking):
        new = msgspec.structs.replace(new, status=entry.status)
    if _same(entry, new) and entry.status == new.status:
        return []
    if entry.status != "draft" or entry.actor != asking.by.actor:
        check_speaks_for_user(asking, f"change what the pack {entry.pack_id!r} brought")
    return _written(entry, new, asking)


def _new(command: EnlistEntry, asking: Asking) -> CrewWritten:
    """What is taken in. In use at once is only what the user says, or has said."""
    author = _author(command, asking)
    active = author in IMMUNE and speaks_for_user(asking) and not command.draft
    return CrewWritten(
        sort=command.sort,
        name=command.name,
        profile=command.profile,
        scope=check_scope(command.scope),
        status="active" if active else "draft",
        author=author,
        session=asking.by.session,
        evidence=command.evidence,
        pack_id=command.pack_id,
    )


def _author(command: EnlistEntry, asking: Asking) -> str:
    """Whose words they are. What a host says in another's name is relayed, and so recorded."""
    if command.pack_id:
        return "pack"
    if asking.by.actor == OWNER:
        return "user"
    return command.author if command.author in IMMUNE else "agent"


def _written(entry: Entry | None, new: CrewWritten, asking: Asking) -> list[Draft]:
    """The entry with the links to what it stands on. A memory that is named anew must be there."""
    check_profile(new.sort, new.profile)
    named = set(new.evidence) - set(entry.evidence if entry else ())
    if missing := [each for each in sorted(named) if around(asking).seen(asking.by, each) is None]:
        raise NotFound(f"no item {missing[0]!r}", hint="`everloop memories` lists them.")
    immune, cites = new.author in IMMUNE, new.status != "archived"
    wanted = frozenset((item_id, immune) for item_id in new.evidence if cites)
    written = Draft(new, (entry.position,) if entry else ())
    return [written, *_relinked(new, entry.cited if entry else frozenset(), wanted, asking)]


def _relinked(
    about: CrewWritten | EntryCommand, linked: Links, wanted: Links, asking: Asking
) -> list[Draft]:
    """The facts that open and close links, standing on the memory and on the append's first."""
    citer, items = stream_of(about.sort, about.name), around(asking).items
    gone = {item_id for item_id, _ in linked} - {item_id for item_id, _ in wanted}
    facts: list[Cited | CitationClosed] = [
        *(Cited(item_id, citer, by_user) for item_id, by_user in sorted(wanted - linked)),
        *(CitationClosed(item_id, citer) for item_id in sorted(gone)),
    ]
    return [
        Draft(fact, (items[fact.item_id].position,), beside=(0,))
        for fact in facts
        if fact.item_id in items
    ]


def _same(entry: Entry, new: CrewWritten) -> bool:
    before = (entry.profile, entry.scope, entry.evidence)
    return before == (new.profile, new.scope, new.evidence)


def _present(entry: Entry | None, sort: Sort, name: str) -> Entry:
    if entry is None or entry.status == "removed":
        raise NotFound(f"no {sort} {name!r}", hint=f"`everloop {sort}s` lists them.")
    return entry


def _check_may_revise(entry: Entry, command: ReviseEntry, asking: Asking) -> None:
    if speaks_for_user(asking) or (entry.actor == asking.by.actor and not entry.immune):
        return
    whose = "a user" if entry.immune else entry.actor
    raise Forbidden(
        f"the {command.sort} {command.name!r} was written by {whose}",
        hint="Write one of your own under another name; the user decides which is used.",
    )


def _forced(entry: Entry, command: ArchiveEntry | RemoveEntry, asking: Asking) -> bool:
    """Whether a user's word was needed, and is there.

    Raises:
        Forbidden: it was needed, and is not there.
    """
    if not entry.immune:
        return False
    if not command.force:
        raise Forbidden(
            f"the {command.sort} {command.name!r} was written by a user or came with a pack",
            hint="The user can let it go with force.",
        )
    check_speaks_for_user(asking, "let go of what a user wrote")
    return True
