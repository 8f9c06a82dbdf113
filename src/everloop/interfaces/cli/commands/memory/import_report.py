"""What becomes of an import of pages: what it would do, what it did, and how to take it back."""

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
    """What became of an import so far. New items stand on `root`, if there are several."""

    ids: set[str]
    planned: int
    root: int = 0
    applied: list[Applied] = []
    troubles: list[Trouble] = []
    notes: list[str] = []
    interrupted: bool = False

    @property
    def undo(self) -> list[int]:
        """What to retract to take it back: what stands on these goes with them."""
        new = [made.positions[0] for made in self.applied if made.change.action == "new"]
        others = [p for made in self.applied if made.change.action != "new" for p in made.positions]
        return [*([self.root] if new and self.root else new), *filter(None, others)]


def shape(planned: Plan, changes: Sequence[Change], done: Import) -> dict[str, object]:
    """What an import would do and what it did, for machines."""
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
    """What an import would do."""
    changes = [*planned.changes, *(planned.deleted if prune else ())]
    if changes:
        _draw_changes(screen, changes)
        screen.say((_meaning(changes), FAINT))
    else:
        screen.say(
            ("Nothing to take in", STRONG), f": {plural(planned.unchanged, 'page')} as they were."
        )
    _draw_rest(screen, planned, notes, prune=prune)


def _draw_changes(screen: Screen, changes: Sequence[Change]) -> None:
    """What would change, one per line; in a narrow terminal, on two."""
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
        screen.table(("", "page", "what", "title"), rows, cut=True)
        return
    for mark, name, what, title in rows:
        screen.line(Text(" ").join((mark, name)))
        screen.line(styled("  ", (f"{what}  ", FAINT), title))


def _draw_rest(screen: Screen, planned: Plan, notes: Sequence[str], *, prune: bool) -> None:
    """What is not taken in, and what else there is to say."""
    if planned.deleted and not prune:
        _draw_deleted(screen, planned.deleted)
    draw_troubles(screen, planned.troubles, each="page", fate="not taken in")
    screen.notes(notes)


def _meaning(changes: Sequence[Change]) -> str:
    """What the signs mean, of those that are shown."""
    meanings = {
        "new": "+ a new item; its id is written into the page",
        "adopt": "= an item that says the same and has no page; its id is written into this one",
        "edit": "~ a revision",
        "retire": "- retired, because its page was deleted",
    }
    return "; ".join(
        meanings[action] for action in meanings if action in {c.action for c in changes}
    )


def _draw_deleted(screen: Screen, deleted: Sequence[Change]) -> None:
    are = "is" if len(deleted) == 1 else "are"
    screen.say(
        (f"{plural(len(deleted), 'page')} {are} gone", WARNING),
        "; the items stay. `--prune` retires them.",
    )
    screen.table(
        ("", ""), [(styled((handle(each.item_id), NAME)), each.title) for each in deleted], cut=True
    )


def draw_import(screen: Screen, after: Plan, done: Import, *, prune: bool) -> None:
    """What an import did, and how to take it back."""
    made = plural(len(done.applied), "change")
    if done.interrupted:
        screen.say(
            ("Interrupted", WARNING),
            f": {made} of {done.planned:,} made. They are whole; run it again to go on.",
        )
    else:
        screen.say(("Done", GOOD), f": {made}.")
    _draw_rest(screen, after, done.notes, prune=prune)
    memory_items.undo(screen, done.undo)
