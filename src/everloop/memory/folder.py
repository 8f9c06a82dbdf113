"""A folder of pages and the memory behind it: what an import would change, and changing it.

Edits come back as facts: revisions, ratings, pins. A page that says what it said when it was
written changes nothing, however old it is. If both the page and the item changed since, nobody but
a person can say which holds: that is a conflict, named and left alone. Importing twice changes
nothing the second time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from everloop.errors import Conflict, NotFound, Rejected
from everloop.log import Command, Context, Reader, Receipt
from everloop.memory.browsing import these
from everloop.memory.commands import (
    PinItem,
    RateItem,
    RememberItem,
    RetireItem,
    ReviseItem,
    UnpinItem,
)
from everloop.memory.events import Origin
from everloop.memory.keeper import Keeper
from everloop.memory.markdown import FIXED, WORDS, Sheet, differing, digest, filled, read, sheet_of
from everloop.memory.scopes import Asker
from everloop.memory.shelf import Item

Action = Literal["new", "edit", "retire"]
Do = Callable[..., Receipt]


class Page(msgspec.Struct, frozen=True):
    """A file of the folder: its name there and what it holds, or why it was not read."""

    name: str
    content: str = ""
    problem: str = ""
    hint: str = ""


class Change(msgspec.Struct, frozen=True):
    """What a page would change. `base` is the digest of the item that the change was made to."""

    action: Action
    name: str
    item_id: str
    title: str
    what: tuple[str, ...]
    base: str
    sheet: Sheet


class Trouble(msgspec.Struct, frozen=True):
    """A page that is not taken in, and what to do about it."""

    name: str
    problem: str
    hint: str
    conflict: bool = False


class Plan(msgspec.Struct, frozen=True):
    """What an import would do. `deleted` are items whose pages are gone."""

    changes: tuple[Change, ...]
    troubles: tuple[Trouble, ...]
    deleted: tuple[Change, ...]
    unchanged: int


class Applied(msgspec.Struct, frozen=True):
    """A change that was made, where it was recorded, and the item as it is now."""

    change: Change
    positions: tuple[int, ...]
    item: Item


def plan(
    keeper: Keeper, who: Asker, pages: Sequence[Page], exported: Iterable[str], *, by: Context
) -> Plan:
    """What importing these pages would change. `exported` are the ids that pages were made for."""
    sheets, troubles = _sheets(pages)
    with keeper.log.reading() as reader:
        items = _items(reader, who, [*(sheet.id for sheet in sheets.values()), *exported])
    changes: list[Change] = []
    for name, sheet in sheets.items():
        try:
            change = _edit(name, sheet, items) if sheet.id else _new(name, sheet, keeper, by)
        except Rejected as problem:
            conflict = isinstance(problem, Conflict)
            troubles.append(Trouble(name, str(problem), problem.hint, conflict))
            continue
        if change is not None:
            changes.append(change)
    here = {sheet.id for sheet in sheets.values()}
    unread = len(pages) - len(sheets)  # one of these may be the page that seems to be gone
    gone = [] if unread else [i for i in sorted(set(exported) - here) if i in items]
    return Plan(
        changes=tuple(changes),
        troubles=tuple(sorted(troubles, key=lambda trouble: trouble.name)),
        deleted=tuple(_deletion(items[item_id]) for item_id in gone if not items[item_id].retired),
        unchanged=len(pages) - len(changes) - len(troubles),
    )


def apply(keeper: Keeper, do: Do, who: Asker, change: Change, *, by: Context) -> Applied:
    """Make a change, if the item is still as it was when the change was planned.

    Raises:
        Rejected: it is not, or the change is refused.
    """
    if change.action == "new":
        return _take_in(keeper, do, change, by)
    item = keeper.find(who.principal, change.item_id)
    if digest(sheet_of(item)) != change.base:
        raise Conflict(f"{change.item_id!r} was changed meanwhile", hint="Import again.")
    commands: Iterator[Command] = (
        iter([RetireItem(item.item_id, "its page was deleted")])
        if change.action == "retire"
        else _commands(item, change.sheet)
    )
    positions = [do(command, by=by).position for command in commands]
    now = keeper.find(who.principal, change.item_id)
    return Applied(change, tuple(positions), now)


# -- planning --------------------------------------------------------------------------------------


def _sheets(pages: Sequence[Page]) -> tuple[dict[str, Sheet], list[Trouble]]:
    """What the pages say, and those that cannot be read, or speak of one item together."""
    sheets: dict[str, Sheet] = {}
    troubles: list[Trouble] = []
    for page in pages:
        try:
            if page.problem:
                troubles.append(Trouble(page.name, page.problem, page.hint))
            else:
                sheets[page.name] = read(page.content)
        except Rejected as problem:
            troubles.append(Trouble(page.name, str(problem), problem.hint))
    names: dict[str, list[str]] = {}
    for name, sheet in sheets.items():
        names.setdefault(sheet.id, []).append(name)
    for item_id, same in names.items():
        if item_id and len(same) > 1:
            for name in same:
                others = ", ".join(other for other in same if other != name)
                hint = (
                    "Keep one; take the `id` line out of a copy that is to be an item of its own."
                )
                troubles.append(Trouble(name, f"{others} has the same id", hint))
                del sheets[name]
    return sheets, troubles


def _items(reader: Reader, who: Asker, ids: Iterable[str]) -> dict[str, Item]:
    found = these(reader, who, sorted({item_id for item_id in ids if item_id}))
    return {item.item_id: item for item in found}


def _edit(name: str, sheet: Sheet, items: dict[str, Item]) -> Change | None:
    """What an edited page would change; None if it was not edited, or its edits are in already."""
    item = items.get(sheet.id)
    if item is None:
        raise NotFound(
            f"there is no item {sheet.id!r} here",
            hint="Take the `id` and `exported` lines out to take it in as a new item.",
        )
    now = sheet_of(item)
    said = filled(sheet, now)
    what = differing(said, now)
    if not what or digest(said) == sheet.exported:
        return None
    if digest(now) != sheet.exported:
        changed = "has lost its `exported` line" if not sheet.exported else "and its item changed"
        raise Conflict(
            f"the page {changed}: {', '.join(what)}",
            hint="Put your edits aside, export again, and make them there.",
        )
    if fixed := [field for field in what if field in FIXED]:
        raise Conflict(
            f"{', '.join(fixed)} cannot be changed afterwards",
            hint="Put back what was there; `everloop forget` and a new page make another item.",
        )
    if not said.text.strip():
        raise Conflict("the page is empty", hint="Delete it and import with --prune to retire it.")
    return Change("edit", name, item.item_id, said.title or "", tuple(what), digest(now), said)


def _new(name: str, sheet: Sheet, keeper: Keeper, by: Context) -> Change:
    """A page without an id: a new item, unless one says the same."""
    if not sheet.text.strip():
        raise NotFound("the page is empty", hint="Write something into it.")
    if sheet.derived_from:
        raise Conflict(
            "derived_from cannot be set by hand", hint="Take the line out; sources are recorded."
        )
    command = _remembering(sheet)
    if known := keeper.said_before(command, by=by):
        raise Conflict(
            f"{known!r} says the same already", hint="Delete the page, or say something new in it."
        )
    title = sheet.title or next(line for line in sheet.text.splitlines() if line.strip())
    return Change("new", name, "", title, (f"{command.kind} in {command.scope}",), "", sheet)


def _deletion(item: Item) -> Change:
    sheet = sheet_of(item)
    return Change("retire", "", item.item_id, item.title, ("deleted",), digest(sheet), sheet)


# -- applying --------------------------------------------------------------------------------------


def _take_in(keeper: Keeper, do: Do, change: Change, by: Context) -> Applied:
    command = _remembering(change.sheet)
    if known := keeper.said_before(command, by=by):
        raise Conflict(f"{known!r} says the same already", hint="Delete one of the pages.")
    kept = keeper.remember(command, by=by)
    positions = [kept.position]
    if change.sheet.significance:
        rated = do(RateItem(kept.item_id, change.sheet.significance), by=by)
        positions.append(rated.position)
    pinned = change.sheet.pinned
    if pinned is not None and pinned != (change.sheet.significance == 3):
        pin = PinItem(kept.item_id) if pinned else UnpinItem(kept.item_id)
        positions.append(do(pin, by=by).position)
    item = keeper.find(by.actor, kept.item_id)
    return Applied(change, tuple(positions), item)


def _remembering(sheet: Sheet) -> RememberItem:
    return RememberItem(
        item_id="",
        text=sheet.text,
        title=sheet.title or "",
        kind=sheet.kind or "fact",
        scope=sheet.scope or "user",
        witnesses=sheet.witnesses or (),
        origin=Origin(sheet.host or "", sheet.session or "", sheet.model or "", sheet.folder or ""),
        learned_via=sheet.learned_via or "imported",
        durability=sheet.durability or "durable",
        happened_at=sheet.happened_at or "",
    )


def _commands(item: Item, sheet: Sheet) -> Iterator[Command]:
    """The commands that make an item what its page says. One revision for all of its words."""
    changed = differing(sheet, sheet_of(item))
    words = {name: getattr(sheet, name) for name in WORDS if name in changed}
    if words:
        yield ReviseItem(item.item_id, **words)
    if "significance" in changed:
        yield RateItem(item.item_id, sheet.significance or 0)
    if "pinned" in changed:
        yield PinItem(item.item_id) if sheet.pinned else UnpinItem(item.item_id)
