"""The preview and the result of importing Markdown pages, and how to undo it."""

from collections.abc import Sequence

import msgspec
from rich.text import Text

from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.screen import (
    BAD,
    BOLD,
    DIM,
    GOOD,
    NAME,
    WARNING,
    Screen,
    styled_text,
)
from everloop.interfaces.cli.skipped_files import draw_skipped
from everloop.memory import AppliedChange, ImportPlan, PageChange, PageProblem, short_id

MARKS = {"new": ("+", GOOD), "adopt": ("=", GOOD), "edit": ("~", WARNING), "retire": ("-", BAD)}


class ImportProgress(msgspec.Struct):
    """The progress of an import. If there are several new memories, they derive from `root`."""

    ids: set[str]
    planned: int
    root: int = 0
    applied: list[AppliedChange] = []
    troubles: list[PageProblem] = []
    notes: list[str] = []
    interrupted: bool = False

    @property
    def undo(self) -> list[int]:
        """The positions to retract to undo the import; facts derived from them go with them."""
        new = [made.positions[0] for made in self.applied if made.change.action == "new"]
        others = [p for made in self.applied if made.change.action != "new" for p in made.positions]
        return [*([self.root] if new and self.root else new), *filter(None, others)]


def import_json(
    planned: ImportPlan, changes: Sequence[PageChange], done: ImportProgress
) -> dict[str, object]:
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


def draw_plan(screen: Screen, planned: ImportPlan, notes: Sequence[str], *, prune: bool) -> None:
    """Print the planned changes of an import."""
    changes = [*planned.changes, *(planned.deleted if prune else ())]
    if changes:
        _draw_changes(screen, changes)
        screen.paragraph((_meaning(changes), DIM))
    else:
        screen.paragraph(
            ("Nothing to import", BOLD), f": {plural(planned.unchanged, 'file')} unchanged."
        )
    _draw_rest(screen, planned, notes, prune=prune)


def _draw_changes(screen: Screen, changes: Sequence[PageChange]) -> None:
    """Print planned changes, one per line, or on two lines in a narrow terminal."""
    rows = [
        (
            styled_text(MARKS[change.action]),
            styled_text((change.name or short_id(change.item_id), NAME)),
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
        screen.line(styled_text("  ", (f"{what}  ", DIM), title))


def _draw_rest(screen: Screen, planned: ImportPlan, notes: Sequence[str], *, prune: bool) -> None:
    """Print deleted and skipped files, and notes."""
    if planned.deleted and not prune:
        _draw_deleted(screen, planned.deleted)
    draw_skipped(screen, planned.troubles, each="file", fate="not imported")
    screen.notes(notes)


def _meaning(changes: Sequence[PageChange]) -> str:
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


def _draw_deleted(screen: Screen, deleted: Sequence[PageChange]) -> None:
    were = "was" if len(deleted) == 1 else "were"
    screen.paragraph(
        (f"{plural(len(deleted), 'file')} {were} deleted", WARNING),
        "; the memories are kept. Pass --prune to retire them.",
    )
    screen.table(
        ("", ""),
        [(styled_text((short_id(each.item_id), NAME)), each.title) for each in deleted],
        cut=True,
    )


def draw_import(screen: Screen, after: ImportPlan, done: ImportProgress, *, prune: bool) -> None:
    """Print the result of an import, and how to undo it."""
    made = plural(len(done.applied), "change")
    if done.interrupted:
        screen.paragraph(
            ("Interrupted", WARNING),
            f": {made} of {done.planned:,} made and saved. Run it again to resume.",
        )
    else:
        screen.paragraph(("Done", GOOD), f": {made}.")
    _draw_rest(screen, after, done.notes, prune=prune)
    memory_items.draw_undo(screen, done.undo)
