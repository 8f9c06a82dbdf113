"""Decisions about skills, personas and teams: pure functions of the entry, the command, the actor.

An agent may write drafts. Only the user, or a host that they trust, activates an entry; and only
they remove what a user wrote or installed with a pack.
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
from everloop.lessons.crew.state import CrewEntry, entry_stream
from everloop.lessons.crew.validation import check_name, check_profile
from everloop.lessons.model.decision_context import (
    check_speaks_for_user,
    lookup_of,
    speaks_for_user,
)
from everloop.lessons.model.state import PROTECTED_AUTHORS
from everloop.log import DecisionContext, Draft
from everloop.memory.model.events import CitationClosed, Cited
from everloop.memory.model.scopes import OWNER, check_scope

CitationLinks = frozenset[tuple[str, bool]]  # a memory, and whether a user's entry cites it
EntryCommand = EnlistEntry | ReviseEntry | ActivateEntry | ArchiveEntry | RemoveEntry


def enlist_entry(
    entry: CrewEntry | None, command: EnlistEntry, asking: DecisionContext
) -> list[Draft]:
    """Add an entry. A pack's own entry is updated, unless it was retired or edited here."""
    check_name(command.name)
    if entry is not None and entry.status != "removed":
        return _enlist_again(entry, command, asking)
    if entry is not None and command.pack_id:
        return []  # the user removed it; a pack does not restore it
    if entry is not None and not speaks_for_user(asking):
        raise Forbidden(
            f"the {command.sort} {command.name!r} was removed",
            hint="Use another name, or ask the user to add it again.",
        )
    return _write(None, _new_entry(command, asking), asking)


def revise_entry(
    entry: CrewEntry | None, command: ReviseEntry, asking: DecisionContext
) -> list[Draft]:
    """Update it, if anything differs. What an agent edited becomes a draft again."""
    known = _require_entry(entry, command.sort, command.name)
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
    return [] if _same(known, new) else _write(known, new, asking)


def activate_entry(
    entry: CrewEntry | None, command: ActivateEntry, asking: DecisionContext
) -> list[Draft]:
    """Activate it, also from the archive. Only the user may, or a host that they trust."""
    known = _require_entry(entry, command.sort, command.name)
    if known.status == "active":
        return []
    check_speaks_for_user(asking, f"activate the {command.sort} {command.name!r}")
    activated = Draft(CrewActivated(command.sort, command.name), (known.position,))
    wanted = frozenset((item_id, known.protected) for item_id in known.evidence)
    return [activated, *_relink(command, known.cited, wanted, asking)]


def archive_entry(
    entry: CrewEntry | None, command: ArchiveEntry, asking: DecisionContext
) -> list[Draft]:
    """Archive it, and close its citations in the same append."""
    known = _require_entry(entry, command.sort, command.name)
    if known.status == "archived":
        return []
    forced = _needs_force(known, command, asking)
    archived = CrewArchived(command.sort, command.name, command.reason, forced)
    released = _relink(command, known.cited, frozenset(), asking)
    return [Draft(archived, (known.position,)), *released]


def remove_entry(
    entry: CrewEntry | None, command: RemoveEntry, asking: DecisionContext
) -> list[Draft]:
    """Remove it, and close its citations. Repeating it changes nothing."""
    if entry is not None and entry.status == "removed":
        return []
    known = _require_entry(entry, command.sort, command.name)
    forced = _needs_force(known, command, asking)
    removed = CrewRemoved(command.sort, command.name, command.reason, forced)
    released = _relink(command, known.cited, frozenset(), asking)
    return [Draft(removed, (known.position,)), *released]


# -- helpers ---------------------------------------------------------------------------------------


def _enlist_again(entry: CrewEntry, command: EnlistEntry, asking: DecisionContext) -> list[Draft]:
    if not command.pack_id or command.pack_id != entry.pack_id:
        raise Conflict(
            f"there is a {command.sort} {command.name!r} already",
            hint="Revise that one, or use another name.",
        )
    if entry.edited or entry.status == "archived":
        return []  # the user's edit wins over the pack's
    new = _new_entry(command, asking)
    if not speaks_for_user(asking):
        new = msgspec.structs.replace(new, status=entry.status)
    if _same(entry, new) and entry.status == new.status:
        return []
    if entry.status != "draft" or entry.actor != asking.by.actor:
        check_speaks_for_user(asking, f"change what the pack {entry.pack_id!r} added")
    return _write(entry, new, asking)


def _new_entry(command: EnlistEntry, asking: DecisionContext) -> CrewWritten:
    """The new entry. It is active at once only if the user adds it, or a host that they trust."""
    author = _author(command, asking)
    active = author in PROTECTED_AUTHORS and speaks_for_user(asking) and not command.draft
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


def _author(command: EnlistEntry, asking: DecisionContext) -> str:
    """The author. What a host relays in another's name is recorded as that author's."""
    if command.pack_id:
        return "pack"
    if asking.by.actor == OWNER:
        return "user"
    return command.author if command.author in PROTECTED_AUTHORS else "agent"


def _write(entry: CrewEntry | None, new: CrewWritten, asking: DecisionContext) -> list[Draft]:
    """The drafts of an entry and its citations. A newly cited memory must exist."""
    check_profile(new.sort, new.profile)
    named = set(new.evidence) - set(entry.evidence if entry else ())
    if missing := [
        each for each in sorted(named) if lookup_of(asking).visible_item(asking.by, each) is None
    ]:
        raise NotFound(f"no item {missing[0]!r}", hint="`everloop memories` lists them.")
    immune, cites = new.author in PROTECTED_AUTHORS, new.status != "archived"
    wanted = frozenset((item_id, immune) for item_id in new.evidence if cites)
    written = Draft(new, (entry.position,) if entry else ())
    return [written, *_relink(new, entry.cited if entry else frozenset(), wanted, asking)]


def _relink(
    about: CrewWritten | EntryCommand,
    linked: CitationLinks,
    wanted: CitationLinks,
    asking: DecisionContext,
) -> list[Draft]:
    """The drafts that open and close citations; they depend on the memory and the first fact."""
    citer, items = entry_stream(about.sort, about.name), lookup_of(asking).items
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


def _same(entry: CrewEntry, new: CrewWritten) -> bool:
    before = (entry.profile, entry.scope, entry.evidence)
    return before == (new.profile, new.scope, new.evidence)


def _require_entry(entry: CrewEntry | None, sort: Sort, name: str) -> CrewEntry:
    if entry is None or entry.status == "removed":
        raise NotFound(f"no {sort} {name!r}", hint=f"`everloop {sort}s` lists them.")
    return entry


def _check_may_revise(entry: CrewEntry, command: ReviseEntry, asking: DecisionContext) -> None:
    if speaks_for_user(asking) or (entry.actor == asking.by.actor and not entry.protected):
        return
    whose = "a user" if entry.protected else entry.actor
    raise Forbidden(
        f"the {command.sort} {command.name!r} was written by {whose}",
        hint="Write your own under another name; the user decides which one is active.",
    )


def _needs_force(
    entry: CrewEntry, command: ArchiveEntry | RemoveEntry, asking: DecisionContext
) -> bool:
    """Whether the change needed force, and the user gave it.

    Raises:
        Forbidden: it needed force, and the user did not give it.
    """
    if not entry.protected:
        return False
    if not command.force:
        raise Forbidden(
            f"the {command.sort} {command.name!r} was written by a user or came with a pack",
            hint="The user can remove or archive it with force.",
        )
    check_speaks_for_user(asking, "retire what a user wrote")
    return True
