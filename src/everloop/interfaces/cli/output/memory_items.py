"""Formats memories as tables and lines, for every command."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from rich.text import Text

from everloop.interfaces.cli.output.escape import one_line
from everloop.interfaces.cli.output.screen import FAINT, GOOD, NAME, STRONG, WARNING, Screen, styled
from everloop.interfaces.cli.output.times import age, is_day, local_short
from everloop.interfaces.cli.parsing.argument_types import spans
from everloop.log import Reader, Receipt
from everloop.memory.browse.queries import handle, these
from everloop.memory.browse.snippet import snippet
from everloop.memory.model.events import PIVOTAL, PinGaveWay
from everloop.memory.model.scopes import Asker
from everloop.memory.projections.queries import Item

TEXT_WIDTH = 240  # wider than most terminals; the table cuts it to fit
LEVELS = ("routine", "notable", "significant", "pivotal")
MATCH = "bold yellow"
SCOPE_WIDTH = 18


def table(screen: Screen, items: Iterable[Item], now: datetime) -> None:
    """Print memories, one per line, or on two lines in a narrow terminal."""
    if not screen.wide:
        for item in items:
            screen.line(Text("  ").join((styled((handle(item.item_id), NAME)), about(item, now))))
            screen.line(Text.assemble("  ", said(item, now)))
        return
    screen.table(
        ("id", "when", "scope", "kind", "memory"),
        [
            (
                styled((handle(item.item_id), NAME)),
                styled((when(item.happened_at, now), FAINT)),
                one_line(item.scope, SCOPE_WIDTH),
                one_line(item.kind, SCOPE_WIDTH),
                said(item, now),
            )
            for item in items
        ],
        cut=True,
    )


def about(item: Item, now: datetime) -> Text:
    """Time, scope and kind, dimmed."""
    facts = (when(item.happened_at, now), one_line(item.scope, SCOPE_WIDTH), item.kind)
    return styled(("  ".join(facts), FAINT))


def said(item: Item, now: datetime, query: str = "") -> Text:
    """A memory on one line: its flags, its title, then its text if that differs."""
    line = Text()
    if item.retired:
        line.append("[retired] ", WARNING)
    if item.holds_until and item.holds_until <= now:
        line.append("[expired] ", WARNING)
    if item.pinned:
        line.append("★ ", GOOD)
    line.append_text(highlighted(item.title, query, STRONG))
    if item.text.strip() != item.title:
        line.append("  ")
        line.append_text(highlighted(item.text, query, FAINT))
    return line


def highlighted(text: str, query: str, style: str) -> Text:
    """The part of a text around the query terms, with the terms highlighted."""
    if not query:
        return styled((one_line(text, TEXT_WIDTH), style))
    parts = snippet(text, query, TEXT_WIDTH).parts()
    return styled(*((part, MATCH if found else style) for part, found in parts))


def against(screen: Screen, items: Sequence[Item], now: datetime) -> None:
    """Print memories that contradict each other in full, newest first."""
    for item in sorted(items, key=lambda each: each.happened_at, reverse=True):
        screen.table(
            ("", ""),
            [
                (
                    styled((handle(item.item_id), NAME)),
                    styled((f"{when(item.happened_at, now)}, {item.author}", FAINT)),
                ),
                ("", item.text),
            ],
        )


def when(at: datetime, now: datetime) -> str:
    """When something happened: its age if recent, else the date."""
    if at > now or (now - at).days >= 2 or is_day(at):
        return local_short(at, now)
    return age(at, now)


def until(end: datetime, now: datetime) -> str:
    """When something expires; midnight means the end of the day before."""
    return f"the end of {_day_before(end)}" if is_day(end) else local_short(end, now)


def _day_before(end: datetime) -> str:
    return (end.astimezone() - timedelta(hours=12)).strftime("%Y-%m-%d")


def gave_way(reader: Reader, who: Asker, receipt: Receipt) -> list[Item]:
    """The memories that a change unpinned to stay within the limit of pins."""
    events = [fact.event for fact in receipt.facts]
    return these(reader, who, [each.item_id for each in events if isinstance(each, PinGaveWay)])


def draw_pins(screen: Screen, item: Item, gone: Sequence[Item], *, rated: bool) -> None:
    """Print which pins a rating removed, or why the memory itself was not pinned."""
    for other in gone:
        screen.say(
            ("The limit of pins was reached, so an older memory was unpinned", WARNING),
            ": ", (handle(other.item_id), NAME), f"  {one_line(other.title, TEXT_WIDTH)}",
        )  # fmt: skip
        screen.say((f"To pin it again: everloop pin {handle(other.item_id)}", FAINT))
    if rated and item.significance == PIVOTAL and not item.pinned:
        screen.say(
            ("Not pinned", WARNING),
            ": it was unpinned before, and is not pinned again automatically.",
        )
        screen.say((f"To pin it: everloop pin {handle(item.item_id)}", FAINT))


def undo(screen: Screen, positions: Sequence[int]) -> None:
    """Print the command that undoes a change."""
    if positions:
        screen.say((f"To undo: everloop log retract {spans(positions)}", FAINT))
