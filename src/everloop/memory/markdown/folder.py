"""Import of a folder of Markdown pages: plan the changes to memory, then apply them.

Edits become facts: revisions, ratings, pins. An unedited page changes nothing, however old it is.
If both the page and the item changed since the export, only a person can choose: that is reported
as a conflict and left alone. Importing is idempotent, also after an interrupted import: a new page
with exactly the text of an item without a page becomes that item's page.

Hidden items are never revealed here. Whoever imports an item learns its id even if they cannot see
the item afterwards: the id and the page's content come from their own import.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from everloop.errors import Conflict, NotFound, Rejected
from everloop.log import Command, CommandBus, Context, Reader
from everloop.memory.browse.queries import items_with_ids, short_id
from everloop.memory.markdown.page import (
    FIXED_FIELDS,
    MARK_FIELDS,
    REVISABLE_FIELDS,
    PageContent,
    differing_fields,
    fill_missing_fields,
    is_unedited,
    normalised_text,
    page_content,
    page_digest,
    parse_page,
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
from everloop.memory.model.scopes import OWNER, Viewer
from everloop.memory.projections.queries import (
    ITEM_COLUMNS,
    Item,
    VisibilityQuery,
    find_item,
    item_from_row,
    load_details,
    load_viewer,
)
from everloop.memory.service import MemoryService

Action = Literal["new", "adopt", "edit", "retire"]
_HAS_TEXT = """
trim(replace(replace(v.text, char(13, 10), char(10)), char(13), char(10)), char(10))
IN (SELECT value FROM json_each(:texts))
"""  # the same normalisation as `even`


class PageFile(msgspec.Struct, frozen=True):
    """A file of the folder: its name and content, or why it could not be read."""

    name: str
    content: str = ""
    problem: str = ""
    hint: str = ""


class PageChange(msgspec.Struct, frozen=True):
    """A change that a page would make. `base` is the digest of the item when it was planned.

    `adopt` makes a new page the page of an existing item: the page gets its id.
    """

    action: Action
    name: str
    item_id: str
    title: str
    what: tuple[str, ...]
    base: str
    sheet: PageContent


class PageProblem(msgspec.Struct, frozen=True):
    """A page that cannot be imported, with a hint."""

    name: str
    problem: str
    hint: str
    conflict: bool = False


class ImportPlan(msgspec.Struct, frozen=True):
    """The changes that an import would make. `deleted` are items whose pages were removed."""

    changes: tuple[PageChange, ...]
    troubles: tuple[PageProblem, ...]
    deleted: tuple[PageChange, ...]
    unchanged: int


class AppliedChange(msgspec.Struct, frozen=True):
    """An applied change, the positions of its facts, and the new content of the item's page."""

    change: PageChange
    positions: tuple[int, ...]
    sheet: PageContent


def plan_import(
    keeper: MemoryService,
    who: Viewer,
    pages: Sequence[PageFile],
    exported: Iterable[str],
    *,
    by: Context,
) -> ImportPlan:
    """Plan the import of pages. `exported` are the ids of the items that had a page."""
    sheets, troubles, named = _parse_pages(pages)
    unread = len(pages) - len(sheets)  # one of these may be the page that seems to be missing
    new = {name: _with_defaults(sheet) for name, sheet in sheets.items() if not sheet.id}
    with keeper.log.reading() as reader:
        items = _load_items(reader, who, [*named, *exported])
        pageless = _items_without_page(
            reader, who, new.values(), {*named, *(exported if unread else ())}
        )
    adopted = _plan_adoptions(new, pageless)
    changes: list[PageChange] = []
    for name, sheet in sheets.items():
        try:
            if sheet.id:
                change = _plan_edit(name, sheet, items, who)
            elif name in adopted:
                change = adopted[name]
            else:
                change = _plan_new(name, sheet, keeper, by)
        except Rejected as problem:
            conflict = isinstance(problem, Conflict)
            troubles.append(PageProblem(name, str(problem), problem.hint, conflict))
            continue
        if change is not None:
            changes.append(change)
    here = {*named, *(change.item_id for change in changes)}
    gone = [] if unread else [i for i in sorted(set(exported) - here) if i in items]
    return ImportPlan(
        changes=tuple(changes),
        troubles=tuple(sorted(troubles, key=lambda trouble: trouble.name)),
        deleted=tuple(
            _plan_deletion(items[item_id]) for item_id in gone if not items[item_id].retired
        ),
        unchanged=len(pages) - len(changes) - len(troubles),
    )


def apply_change(
    keeper: MemoryService,
    bus: CommandBus,
    who: Viewer,
    change: PageChange,
    *,
    by: Context,
    because: tuple[int, ...] = (),
) -> AppliedChange:
    """Apply a change, if the item is unchanged since the change was planned.

    A new item depends on `because`: retracting that retracts the item.

    Raises:
        Rejected: the item was changed, or the change is refused.
    """
    if change.action == "new":
        return _apply_new(keeper, bus, change, by, because)
    item = keeper.find(who.principal, change.item_id)
    if page_digest(page_content(item)) != change.base:
        raise Conflict(f"{change.item_id!r} was changed meanwhile", hint="Import again.")
    commands: Iterator[Command] = (
        iter([RetireItem(item.item_id, "its page was deleted")])
        if change.action == "retire"
        else _edit_commands(item, change.sheet)
    )
    positions = [bus.do(command, by=by).position for command in commands]
    try:
        sheet = page_content(keeper.find(who.principal, change.item_id))
    except NotFound:  # the edit hid the item from its editor, who knows what the page says
        sheet = change.sheet
    return AppliedChange(change, tuple(positions), sheet)


# -- planning --------------------------------------------------------------------------------------


def _parse_pages(
    pages: Sequence[PageFile],
) -> tuple[dict[str, PageContent], list[PageProblem], set[str]]:
    """The contents of the pages; problems (unreadable, or the same id twice); and all ids."""
    sheets: dict[str, PageContent] = {}
    troubles: list[PageProblem] = []
    for page in pages:
        try:
            if page.problem:
                troubles.append(PageProblem(page.name, page.problem, page.hint))
            else:
                sheets[page.name] = parse_page(page.content)
        except Rejected as problem:
            troubles.append(PageProblem(page.name, str(problem), problem.hint))
    names: dict[str, list[str]] = {}
    for name, sheet in sheets.items():
        names.setdefault(sheet.id, []).append(name)
    for item_id, same in names.items():
        if item_id and len(same) > 1:
            for name in same:
                others = ", ".join(other for other in same if other != name)
                hint = (
                    "Keep one; remove the `id` line from a copy that is to become a separate item."
                )
                troubles.append(PageProblem(name, f"{others} has the same id", hint))
                del sheets[name]
    return sheets, troubles, names.keys() - {""}


def _load_items(reader: Reader, who: Viewer, ids: Iterable[str]) -> dict[str, Item]:
    found = items_with_ids(reader, who, sorted({item_id for item_id in ids if item_id}))
    return {item.item_id: item for item in found}


def _items_without_page(
    reader: Reader, who: Viewer, new: Iterable[PageContent], taken: set[str]
) -> dict[str, list[Item]]:
    """The items with the text of a new page that have no page yet, oldest first, by text."""
    found: dict[str, list[Item]] = {}
    texts = {normalised_text(sheet) for sheet in new} - {""}
    if not texts:
        return found
    sought = msgspec.json.encode(sorted(texts)).decode()
    rows = VisibilityQuery(who).rows(
        reader, ITEM_COLUMNS, _HAS_TEXT, "ORDER BY i.position", texts=sought
    )
    free = [item for item in map(item_from_row, rows) if item.item_id not in taken]
    for item in load_details(reader, who, free):
        found.setdefault(normalised_text(page_content(item)), []).append(item)
    return found


def _plan_adoptions(
    new: dict[str, PageContent], pageless: dict[str, list[Item]]
) -> dict[str, PageChange]:
    """Match new pages with items that differ in nothing but marks.

    An interrupted import leaves such items behind.
    """
    found: dict[str, PageChange] = {}
    for name, sheet in new.items():
        for item in pageless.get(normalised_text(sheet), ()):
            current = page_content(item)
            edited = fill_missing_fields(msgspec.structs.replace(sheet, id=item.item_id), current)
            what = differing_fields(edited, current)
            if set(what) <= set(MARK_FIELDS):
                pageless[normalised_text(sheet)].remove(item)
                found[name] = _adoption(name, item, edited, what)
                break
    return found


def _adoption(name: str, item: Item, edited: PageContent, marks: Sequence[str]) -> PageChange:
    what = (f"the page of {short_id(item.item_id)}", *marks)
    return PageChange(
        "adopt", name, item.item_id, item.title, what, page_digest(page_content(item)), edited
    )


def _plan_edit(
    name: str, sheet: PageContent, items: dict[str, Item], who: Viewer
) -> PageChange | None:
    """Plan the edit of a page; None if it is unedited or was imported already."""
    item = items.get(sheet.id)
    if item is None:
        if is_unedited(sheet) and not who.is_owner:  # do not reveal whether the item exists
            return None
        raise NotFound(
            f"there is no item {sheet.id!r} here",
            hint="Remove the `id` and `exported` lines to import the page as a new item.",
        )
    current = page_content(item)
    edited = fill_missing_fields(sheet, current)
    what = differing_fields(edited, current)
    if not what or page_digest(edited) == sheet.exported:
        return None
    if page_digest(current) != sheet.exported:
        changed = "has lost its `exported` line" if not sheet.exported else "and its item changed"
        raise Conflict(
            f"the page {changed}: {', '.join(what)}",
            hint="Save your edits elsewhere, export again, and redo them in the new page.",
        )
    if fixed := [field for field in what if field in FIXED_FIELDS]:
        raise Conflict(
            f"{', '.join(fixed)} cannot be changed afterwards",
            hint="Restore the old value, or retire the item with `everloop forget` and write a new"
            " page.",
        )
    if not edited.text.strip():
        raise Conflict("the page is empty", hint="Delete it and import with --prune to retire it.")
    return PageChange(
        "edit", name, item.item_id, edited.title or "", tuple(what), page_digest(current), edited
    )


def _plan_new(name: str, sheet: PageContent, keeper: MemoryService, by: Context) -> PageChange:
    """Plan a new item for a page without an id, unless an item with a page has the same text."""
    if not sheet.text.strip():
        raise NotFound("the page is empty", hint="Write something into it.")
    if sheet.derived_from:
        raise Conflict(
            "derived_from cannot be set by hand",
            hint="Remove the line; sources are recorded automatically.",
        )
    command = _remember_command(sheet)
    if known := keeper.find_repeated(command, by=by):
        raise Conflict(
            f"{known!r} says the same already", hint="Delete the page, or change its text."
        )
    title = sheet.title or next(line for line in sheet.text.splitlines() if line.strip())
    return PageChange("new", name, "", title, (f"{command.kind} in {command.scope}",), "", sheet)


def _plan_deletion(item: Item) -> PageChange:
    sheet = page_content(item)
    return PageChange(
        "retire", "", item.item_id, item.title, ("deleted",), page_digest(sheet), sheet
    )


# -- applying --------------------------------------------------------------------------------------


def _apply_new(
    keeper: MemoryService,
    bus: CommandBus,
    change: PageChange,
    by: Context,
    because: tuple[int, ...],
) -> AppliedChange:
    command = msgspec.structs.replace(_remember_command(change.sheet), because=because)
    if known := keeper.find_repeated(command, by=by):
        raise Conflict(f"{known!r} says the same already", hint="Delete one of the pages.")
    kept = keeper.remember(command, by=by)
    positions = [kept.position]
    if change.sheet.significance:
        rated = bus.do(RateItem(kept.item_id, change.sheet.significance), by=by)
        positions.append(rated.position)
    pinned = change.sheet.pinned
    if pinned is not None and pinned != (change.sheet.significance == 3):
        pin = PinItem(kept.item_id) if pinned else UnpinItem(kept.item_id)
        positions.append(bus.do(pin, by=by).position)
    # Authors get the page of what they just imported, even if they may not see the item afterwards.
    viewer = OWNER if kept.new else by.actor
    with keeper.log.reading(as_of=max(positions)) as reader:
        item = find_item(reader, load_viewer(reader, viewer), kept.item_id)
    return AppliedChange(change, tuple(positions), page_content(item))


def _remember_command(sheet: PageContent) -> RememberItem:
    complete_sheet = _with_defaults(sheet)
    return RememberItem(
        item_id="",
        text=sheet.text,
        title=sheet.title or "",
        kind=complete_sheet.kind or "",
        scope=complete_sheet.scope or "",
        witnesses=complete_sheet.witnesses or (),
        origin=Origin(sheet.host or "", sheet.session or "", sheet.model or "", sheet.folder or ""),
        learned_via=sheet.learned_via or "imported",
        durability=sheet.durability or "durable",
        happened_at=sheet.happened_at or "",
    )


def _with_defaults(sheet: PageContent) -> PageContent:
    """Fill in the default kind, scope and witnesses of a new page."""
    return msgspec.structs.replace(
        sheet,
        kind=sheet.kind or "fact",
        scope=sheet.scope or "user",
        witnesses=sheet.witnesses or (),
    )


def _edit_commands(item: Item, sheet: PageContent) -> Iterator[Command]:
    """The commands that apply an edited page. One revision changes all revisable fields."""
    changed = differing_fields(sheet, page_content(item))
    words = {name: getattr(sheet, name) for name in REVISABLE_FIELDS if name in changed}
    if words:
        yield ReviseItem(item.item_id, **words, base=item.version)
    if "significance" in changed:
        yield RateItem(item.item_id, sheet.significance or 0)
    if "pinned" in changed:
        yield PinItem(item.item_id) if sheet.pinned else UnpinItem(item.item_id)
