"""Memory items as tables and lines, the same in every command."""

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

TEXT_WIDTH = 240  # more than a line holds; the table cuts it to what fits
LEVELS = ("routine", "notable", "significant", "pivotal")
MATCH = "bold yellow"
SCOPE_WIDTH = 18


def table(screen: Screen, items: Iterable[Item], now: datetime) -> None:
    """Items, one per line; in a narrow terminal, on two."""
    if not screen.wide:
        for item in items:
            screen.line(Text("  ").join((styled((handle(item.item_id), NAME)), about(item, now))))
            screen.line(Text.assemble("  ", said(item, now)))
        return
    screen.table(
        ("id", "happened", "scope", "kind", "what"),
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
    """When, for whom and what kind, faint."""
    facts = (when(item.happened_at, now), one_line(item.scope, SCOPE_WIDTH), item.kind)
    return styled(("  ".join(facts), FAINT))


def said(item: Item, now: datetime, asked: str = "") -> Text:
    """What an item says, on one line: its marks, its title, then the text if that says more."""
    said = Text()
    if item.retired:
        said.append("[retired] ", WARNING)
    if item.holds_until and item.holds_until <= now:
        said.append("[no longer holds] ", WARNING)
    if item.pinned:
        said.append("★ ", GOOD)
    said.append_text(highlighted(item.title, asked, STRONG))
    if item.text.strip() != item.title:
        said.append("  ")
        said.append_text(highlighted(item.text, asked, FAINT))
    return said


def highlighted(text: str, asked: str, style: str) -> Text:
    """A piece of text, with the words that were looked for."""
    if not asked:
        return styled((one_line(text, TEXT_WIDTH), style))
    parts = snippet(text, asked, TEXT_WIDTH).parts()
    return styled(*((part, MATCH if found else style) for part, found in parts))


def against(screen: Screen, items: Sequence[Item], now: datetime) -> None:
    """Items that contradict each other, newest first, with their whole texts."""
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
    """When something happened: how long ago; if that is long, yet to come or a day, the date."""
    if at > now or (now - at).days >= 2 or is_day(at):
        return local_short(at, now)
    return age(at, now)


def until(end: datetime, now: datetime) -> str:
    """Until when something holds; midnight is the end of the day before it."""
    return f"the end of {_day_before(end)}" if is_day(end) else local_short(end, now)


def _day_before(end: datetime) -> str:
    return (end.astimezone() - timedelta(hours=12)).strftime("%Y-%m-%d")


def gave_way(reader: Reader, who: Asker, receipt: Receipt) -> list[Item]:
    """The items whose pins gave way to what a receipt tells of."""
    events = [fact.event for fact in receipt.facts]
    return these(reader, who, [each.item_id for each in events if isinstance(each, PinGaveWay)])


def draw_pins(screen: Screen, item: Item, gone: Sequence[Item], *, rated: bool) -> None:
    """What became of pins when an item was rated: which gave way, and why it has none itself."""
    for other in gone:
        screen.say(
            ("For its pin an older one gave way", WARNING),
            ": ", (handle(other.item_id), NAME), f"  {one_line(other.title, TEXT_WIDTH)}",
        )  # fmt: skip
        screen.say((f"To keep that one as well: everloop pin {handle(other.item_id)}", FAINT))
    if rated and item.significance == PIVOTAL and not item.pinned:
        screen.say(
            ("It is not pinned", WARNING),
            ": its pin was taken off before, or gave way, and does not come back by itself.",
        )
        screen.say((f"To pin it: everloop pin {handle(item.item_id)}", FAINT))


def undo(screen: Screen, positions: Sequence[int]) -> None:
    """How to take it back."""
    if positions:
        screen.say((f"To undo it: everloop log retract {spans(positions)}", FAINT))
