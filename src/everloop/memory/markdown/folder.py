"""A folder of pages and the memory behind it: what an import would change, and changing it.

Edits come back as facts: revisions, ratings, pins. A page that says what it said when it was
written changes nothing, however old it is. If both the page and the item changed since, nobody but
a person can say which holds: that is a conflict, named and left alone. Importing twice changes
nothing the second time, also if the first was broken off: a new page that says word for word what
an item without a page says is that item's page.

Whoever may not see an item learns nothing of it here. What they take in gets its id nevertheless:
that, and what the page says, is what they said themselves.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from everloop.errors import Conflict, NotFound, Rejected
from everloop.log import Command, Context, Reader, Receipt
from everloop.memory.browse.queries import handle, these
from everloop.memory.markdown.page import (
    FIXED,
    MARKS,
    WORDS,
    Sheet,
    differing,
    digest,
    even,
    filled,
    read,
    sheet_of,
    untouched,
)
from everloop.memory.model.commands import (
    PinItem,
    RateItem,
    RememberItem,
    RetireItem,
    ReviseItem,
    UnpinItem,
)
from everloop.memory.model.events import Origin
from everloop.memory.model.scopes import OWNER, Asker
from everloop.memory.projections.queries import COLUMNS, Item, Sieve, asker, complete, find, item_of
from everloop.memory.service import Keeper

Action = Literal["new", "adopt", "edit", "retire"]
Do = Callable[..., Receipt]
_SAYS_ONE = """
trim(replace(replace(v.text, char(13, 10), char(10)), char(13), char(10)), char(10))
IN (SELECT value FROM json_each(:texts))
"""  # the text as `even` has it


class Page(msgspec.Struct, frozen=True):
    """A file of the folder: its name there and what it holds, or why it was not read."""

    name: str
    content: str = ""
    problem: str = ""
    hint: str = ""


class Change(msgspec.Struct, frozen=True):
    """What a page would change. `base` is the digest of the item that the change was made to.

    To adopt an item is to become its page: the page gets its id.
    """

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
    """A change that was made, where it was recorded, and what the page of the item says now."""

    change: Change
    positions: tuple[int, ...]
    sheet: Sheet


def plan(
    keeper: Keeper, who: Asker, pages: Sequence[Page], exported: Iterable[str], *, by: Context
) -> Plan:
    """What importing these pages would change. `exported` are the ids that pages were made for."""
    sheets, troubles, named = _sheets(pages)
    unread = len(pages) - len(sheets)  # one of these may be the page that seems to be gone
    new = {name: _defaulted(sheet) for name, sheet in sheets.items() if not sheet.id}
    with keeper.log.reading() as reader:
        items = _items(reader, who, [*named, *exported])
        alone = _without_page(reader, who, new.values(), {*named, *(exported if unread else ())})
    adopted = _adopted(new, alone)
    changes: list[Change] = []
    for name, sheet in sheets.items():
        try:
            if sheet.id:
                change = _edit(name, sheet, items, who)
            elif name in adopted:
                change = adopted[name]
            else:
                change = _new(name, sheet, keeper, by)
        except Rejected as problem:
            conflict = isinstance(problem, Conflict)
            troubles.append(Trouble(name, str(problem), problem.hint, conflict))
            continue
        if change is not None:
            changes.append(change)
    here = {*named, *(change.item_id for change in changes)}
    gone = [] if unread else [i for i in sorted(set(exported) - here) if i in items]
    return Plan(
        changes=tuple(changes),
        troubles=tuple(sorted(troubles, key=lambda trouble: trouble.name)),
        deleted=tuple(_deletion(items[item_id]) for item_id in gone if not items[item_id].retired),
        unchanged=len(pages) - len(changes) - len(troubles),
    )


def apply(
    keeper: Keeper,
    do: Do,
    who: Asker,
    change: Change,
    *,
    by: Context,
    because: tuple[int, ...] = (),
) -> Applied:
    """Make a change, if the item is still as it was when the change was planned.

    A new item stands on `because`: retracting that takes it back.

    Raises:
        Rejected: it is not, or the change is refused.
    """
    if change.action == "new":
        return _take_in(keeper, do, change, by, because)
    item = keeper.find(who.principal, change.item_id)
    if digest(sheet_of(item)) != change.base:
        raise Conflict(f"{change.item_id!r} was changed meanwhile", hint="Import again.")
    commands: Iterator[Command] = (
        iter([RetireItem(item.item_id, "its page was deleted")])
        if change.action == "retire"
        else _commands(item, change.sheet)
    )
    positions = [do(command, by=by).position for command in commands]
    try:
        sheet = sheet_of(keeper.find(who.principal, change.item_id))
    except NotFound:  # they moved it out of their own sight, and know what they said
        sheet = change.sheet
    return Applied(change, tuple(positions), sheet)


# -- planning --------------------------------------------------------------------------------------


def _sheets(pages: Sequence[Page]) -> tuple[dict[str, Sheet], list[Trouble], set[str]]:
    """What the pages say; those that cannot be read, or speak of one item together; all ids."""
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
    return sheets, troubles, names.keys() - {""}


def _items(reader: Reader, who: Asker, ids: Iterable[str]) -> dict[str, Item]:
    found = these(reader, who, sorted({item_id for item_id in ids if item_id}))
    return {item.item_id: item for item in found}


def _without_page(
    reader: Reader, who: Asker, new: Iterable[Sheet], taken: set[str]
) -> dict[str, list[Item]]:
    """The items that say what one of these says and have no page yet, oldest first, by text."""
    found: dict[str, list[Item]] = {}
    texts = {even(sheet) for sheet in new} - {""}
    if not texts:
        return found
    sought = msgspec.json.encode(sorted(texts)).decode()
    rows = Sieve(who).rows(reader, COLUMNS, _SAYS_ONE, "ORDER BY i.position", texts=sought)
    free = [item for item in map(item_of, rows) if item.item_id not in taken]
    for item in complete(reader, who, free):
        found.setdefault(even(sheet_of(item)), []).append(item)
    return found


def _adopted(new: dict[str, Sheet], alone: dict[str, list[Item]]) -> dict[str, Change]:
    """Which new page is the page of which item: it says the same, marks aside, to the same people.

    An import that was broken off leaves such items behind.
    """
    found: dict[str, Change] = {}
    for name, sheet in new.items():
        for item in alone.get(even(sheet), ()):
            now = sheet_of(item)
            said = filled(msgspec.structs.replace(sheet, id=item.item_id), now)
            what = differing(said, now)
            if set(what) <= set(MARKS):
                alone[even(sheet)].remove(item)
                found[name] = _adoption(name, item, said, what)
                break
    return found


def _adoption(name: str, item: Item, said: Sheet, marks: Sequence[str]) -> Change:
    what = (f"the page of {handle(item.item_id)}", *marks)
    return Change("adopt", name, item.item_id, item.title, what, digest(sheet_of(item)), said)


def _edit(name: str, sheet: Sheet, items: dict[str, Item], who: Asker) -> Change | None:
    """What an edited page would change; None if it was not edited, or its edits are in already."""
    item = items.get(sheet.id)
    if item is None:
        if untouched(sheet) and not who.owner:  # whether it is there is not for them to know
            return None
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
    """A page without an id: a new item, unless one says the same and has its page."""
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


def _take_in(
    keeper: Keeper, do: Do, change: Change, by: Context, because: tuple[int, ...]
) -> Applied:
    command = msgspec.structs.replace(_remembering(change.sheet), because=because)
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
    # What somebody said just now is no secret to them, whether or not they may see it from now on.
    eyes = OWNER if kept.new else by.actor
    with keeper.log.reading(as_of=max(positions)) as reader:
        item = find(reader, asker(reader, eyes), kept.item_id)
    return Applied(change, tuple(positions), sheet_of(item))


def _remembering(sheet: Sheet) -> RememberItem:
    said = _defaulted(sheet)
    return RememberItem(
        item_id="",
        text=sheet.text,
        title=sheet.title or "",
        kind=said.kind or "",
        scope=said.scope or "",
        witnesses=said.witnesses or (),
        origin=Origin(sheet.host or "", sheet.session or "", sheet.model or "", sheet.folder or ""),
        learned_via=sheet.learned_via or "imported",
        durability=sheet.durability or "durable",
        happened_at=sheet.happened_at or "",
    )


def _defaulted(sheet: Sheet) -> Sheet:
    """A page that says what sort of item it is and whom it is for, also if it left that open."""
    return msgspec.structs.replace(
        sheet,
        kind=sheet.kind or "fact",
        scope=sheet.scope or "user",
        witnesses=sheet.witnesses or (),
    )


def _commands(item: Item, sheet: Sheet) -> Iterator[Command]:
    """The commands that make an item what its page says. One revision for all of its words."""
    changed = differing(sheet, sheet_of(item))
    words = {name: getattr(sheet, name) for name in WORDS if name in changed}
    if words:
        yield ReviseItem(item.item_id, **words, base=item.version)
    if "significance" in changed:
        yield RateItem(item.item_id, sheet.significance or 0)
    if "pinned" in changed:
        yield PinItem(item.item_id) if sheet.pinned else UnpinItem(item.item_id)
