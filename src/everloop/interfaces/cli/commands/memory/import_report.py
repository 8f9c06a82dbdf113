"""The preview and the result of importing Markdown pages, and how to undo it."""

from collections.abc import Sequence

import msgspec
from rich.text import Text

from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.screen import (
    BAD,
    FAINT,
    GOOD,
    NAME,
    STRONG,
    WARNING,
    Screen,
    styled,
)
from everloop.interfaces.cli.skipped_files import draw_troubles
from everloop.memory.browse.queries import handle
from everloop.memory.markdown.folder import Applied, Change, Plan, Trouble

MARKS = {"new": ("+", GOOD), "adopt": ("=", GOOD), "edit": ("~", WARNING), "retire": ("-", BAD)}


class Import(msgspec.Struct):
    """The progress of an import. If there are several new memories, they derive from `root`."""

    ids: set[str]
    planned: int
    root: int = 0
    applied: list[Applied] = []
    troubles: list[Trouble] = []
    notes: list[str] = []
    interrupted: bool = False

    @property
    def undo(self) -> list[int]:
        """The positions to retract to undo the import; facts derived from them go with them."""
        new = [made.positions[0] for made in self.applied if made.change.action == "new"]
        others = [p for made in self.applied if made.change.action != "new" for p in made.positions]
        return [*([self.root] if new and self.root else new), *filter(None, others)]


def shape(planned: Plan, changes: Sequence[Change], done: Import) -> dict[str, object]:
    """The planned and applied changes of an import, as JSON."""
    return {
        "changes": [
            {"action": c.action, "page": c.name, "item_id": c.item_id, "what": c.what}
            for c in changes
        ],
        "applied": [
            {
                "action": made.change.action,
                "page": made.change.name,
                "item_id": made.sheet.id,
                "positions": made.positions,
            }
            for made in done.applied
        ],
        "undo": done.undo,
        "interrupted": done.interrupted,
        "deleted": [change.item_id for change in planned.deleted],
        "troubles": planned.troubles,
        "unchanged": planned.unchanged,
        "notes": done.notes,
    }


def draw_plan(screen: Screen, planned: Plan, notes: Sequence[str], *, prune: bool) -> None:
    """Print the planned changes of an import."""
    changes = [*planned.changes, *(planned.deleted if prune else ())]
    if changes:
        _draw_changes(screen, changes)
        screen.say((_meaning(changes), FAINT))
    else:
        screen.say(
            ("Nothing to import", STRONG), f": {plural(planned.unchanged, 'file')} unchanged."
        )
    _draw_rest(screen, planned, notes, prune=prune)


def _draw_changes(screen: Screen, changes: Sequence[Change]) -> None:
    """Print planned changes, one per line, or on two lines in a narrow terminal."""
    rows = [
        (
            styled(MARKS[change.action]),
            styled((change.name or handle(change.item_id), NAME)),
            ", ".join(change.what),
            change.title,
        )
        for change in changes
    ]
    if screen.wide:
        screen.table(("", "file", "changes", "title"), rows, cut=True)
        return
    for mark, name, what, title in rows:
        screen.line(Text(" ").join((mark, name)))
        screen.line(styled("  ", (f"{what}  ", FAINT), title))


def _draw_rest(screen: Screen, planned: Plan, notes: Sequence[str], *, prune: bool) -> None:
    """Print deleted and skipped files, and notes."""
    if planned.deleted and not prune:
        _draw_deleted(screen, planned.deleted)
    draw_troubles(screen, planned.troubles, each="file", fate="not imported")
    screen.notes(notes)


def _meaning(changes: Sequence[Change]) -> str:
    """The legend of the marks that are shown."""
    meanings = {
        "new": "+ new memory; its ID is written into the file",
        "adopt": "= existing memory with the same text; its ID is written into this file",
        "edit": "~ new version",
        "retire": "- retired, because its file was deleted",
    }
    return "; ".join(
        meanings[action] for action in meanings if action in {c.action for c in changes}
    )


def _draw_deleted(screen: Screen, deleted: Sequence[Change]) -> None:
    were = "was" if len(deleted) == 1 else "were"
    screen.say(
        (f"{plural(len(deleted), 'file')} {were} deleted", WARNING),
        "; the memories are kept. Pass --prune to retire them.",
    )
    screen.table(
        ("", ""), [(styled((handle(each.item_id), NAME)), each.title) for each in deleted], cut=True
    )


def draw_import(screen: Screen, after: Plan, done: Import, *, prune: bool) -> None:
    """Print the result of an import, and how to undo it."""
    made = plural(len(done.applied), "change")
    if done.interrupted:
        screen.say(
            ("Interrupted", WARNING),
            f": {made} of {done.planned:,} made and saved. Run it again to resume.",
        )
    else:
        screen.say(("Done", GOOD), f": {made}.")
    _draw_rest(screen, after, done.notes, prune=prune)
    memory_items.undo(screen, done.undo)
