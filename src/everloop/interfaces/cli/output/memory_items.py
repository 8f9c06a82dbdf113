"""Formats memories as tables and lines, for every command."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from rich.text import Text

from everloop.interfaces.cli.output.escape import one_line
from everloop.interfaces.cli.output.screen import (
    BOLD,
    DIM,
    GOOD,
    NAME,
    WARNING,
    Screen,
    styled_text,
)
from everloop.interfaces.cli.output.times import format_age, format_short, is_midnight
from everloop.interfaces.cli.parsing.argument_types import format_positions
from everloop.log import Reader, Receipt
from everloop.memory import PIVOTAL, Item, PinGaveWay, Viewer, items_with_ids, short_id, snippet

TEXT_WIDTH = 240  # wider than most terminals; the table cuts it to fit
LEVELS = ("routine", "notable", "significant", "pivotal")
MATCH = "bold yellow"
SCOPE_WIDTH = 18


def draw_items(screen: Screen, items: Iterable[Item], now: datetime) -> None:
    """Print memories, one per line, or on two lines in a narrow terminal."""
    if not screen.wide:
        for item in items:
            screen.line(
                Text("  ").join(
                    (styled_text((short_id(item.item_id), NAME)), item_details(item, now))
                )
            )
            screen.line(Text.assemble("  ", item_line(item, now)))
        return
    screen.table(
        ("id", "when", "scope", "kind", "memory"),
        [
            (
                styled_text((short_id(item.item_id), NAME)),
                styled_text((format_happened(item.happened_at, now), DIM)),
                one_line(item.scope, SCOPE_WIDTH),
                one_line(item.kind, SCOPE_WIDTH),
                item_line(item, now),
            )
            for item in items
        ],
        cut=True,
    )


def item_details(item: Item, now: datetime) -> Text:
    """Time, scope and kind, dimmed."""
    facts = (format_happened(item.happened_at, now), one_line(item.scope, SCOPE_WIDTH), item.kind)
    return styled_text(("  ".join(facts), DIM))


def item_line(item: Item, now: datetime, query: str = "") -> Text:
    """A memory on one line: its flags, its title, then its text if that differs."""
    line = Text()
    if item.retired:
        line.append("[retired] ", WARNING)
    if item.holds_until and item.holds_until <= now:
        line.append("[expired] ", WARNING)
    if item.pinned:
        line.append("★ ", GOOD)
    line.append_text(highlight(item.title, query, BOLD))
    if item.text.strip() != item.title:
        line.append("  ")
        line.append_text(highlight(item.text, query, DIM))
    return line


def highlight(text: str, query: str, style: str) -> Text:
    """The part of a text around the query terms, with the terms highlighted."""
    if not query:
        return styled_text((one_line(text, TEXT_WIDTH), style))
    parts = snippet(text, query, TEXT_WIDTH).parts()
    return styled_text(*((part, MATCH if found else style) for part, found in parts))


def draw_contradictions(screen: Screen, items: Sequence[Item], now: datetime) -> None:
    """Print memories that contradict each other in full, newest first."""
    for item in sorted(items, key=lambda each: each.happened_at, reverse=True):
        screen.table(
            ("", ""),
            [
                (
                    styled_text((short_id(item.item_id), NAME)),
                    styled_text((f"{format_happened(item.happened_at, now)}, {item.authors}", DIM)),
                ),
                ("", item.text),
            ],
        )


def format_happened(at: datetime, now: datetime) -> str:
    """When something happened: its age if recent, else the date."""
    if at > now or (now - at).days >= 2 or is_midnight(at):
        return format_short(at, now)
    return format_age(at, now)


def format_until(end: datetime, now: datetime) -> str:
    """When something expires; midnight means the end of the day before."""
    return f"the end of {_day_before(end)}" if is_midnight(end) else format_short(end, now)


def _day_before(end: datetime) -> str:
    return (end.astimezone() - timedelta(hours=12)).strftime("%Y-%m-%d")


def evicted_pins(reader: Reader, who: Viewer, receipt: Receipt) -> list[Item]:
    """The memories that a change unpinned to stay within the limit of pins."""
    events = [fact.event for fact in receipt.facts]
    return items_with_ids(
        reader, who, [each.item_id for each in events if isinstance(each, PinGaveWay)]
    )


def draw_pin_changes(screen: Screen, item: Item, gone: Sequence[Item], *, rated: bool) -> None:
    """Print which pins a rating removed, or why the memory itself was not pinned."""
    for other in gone:
        screen.paragraph(
            ("The limit of pins was reached, so an older memory was unpinned", WARNING),
            ": ", (short_id(other.item_id), NAME), f"  {one_line(other.title, TEXT_WIDTH)}",
        )  # fmt: skip
        screen.advice((f"To pin it again: everloop pin {short_id(other.item_id)}", DIM))
    if rated and item.significance == PIVOTAL and not item.pinned:
        screen.paragraph(
            ("Not pinned", WARNING),
            ": it was unpinned before, and is not pinned again automatically.",
        )
        screen.advice((f"To pin it: everloop pin {short_id(item.item_id)}", DIM))


def draw_undo(screen: Screen, positions: Sequence[int]) -> None:
    """Print the command that undoes a change."""
    if positions:
        screen.advice((f"To undo: everloop log retract {format_positions(positions)}", DIM))
