"""Formats facts, branches and previews of changes as tables and trees, for every command."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast

import msgspec
from rich.text import Text
from rich.tree import Tree

from everloop.app import Engine
from everloop.interfaces.cli.output.escape import one_line
from everloop.interfaces.cli.output.screen import BOLD, DIM, GOOD, NAME, Screen, styled_text
from everloop.interfaces.cli.output.times import format_age, format_short
from everloop.interfaces.cli.session import Session
from everloop.log import (
    BranchSummary,
    FactsAtPositions,
    Impact,
    ListedRecord,
    Record,
    from_microseconds,
)

PAYLOAD_WIDTH = 400  # wider than any terminal; the table cuts it to fit
STREAM_WIDTH = 24  # longer names, mostly ids, would leave no room for the payload
STREAM_END = 8  # characters shown of the start and of the end of a longer name
PREVIEW_FACTS_MAX = 12
MARKS = {"retracted": "retracted", "purged": "purged", "elsewhere": "on another branch"}


def draw_facts(screen: Screen, sightings: Iterable[ListedRecord], now: datetime) -> None:
    """Print a table of facts. Facts that do not count are dimmed and say why."""
    if not screen.wide:
        for sighting in sightings:
            draw_fact(screen, sighting, now)
        return
    screen.table(
        ("#position", "recorded", "by", "stream", "fact"),
        [_row(sighting, now) for sighting in sightings],
        cut=True,
    )


def draw_fact(screen: Screen, sighting: ListedRecord, now: datetime) -> None:
    """Print one fact: on one line if the terminal is wide enough, else on two."""
    *envelope, content = _row(sighting, now)
    first = Text("  ").join(envelope)
    if screen.wide:
        screen.line(Text("  ").join((first, content)))
    else:
        screen.line(first)
        screen.line(Text("  ").join((Text(" " * len(envelope[0])), content)))


def format_payload(record: Record) -> str:
    """The payload of a record on one line."""
    if record.data is None:
        return "(erased)"
    decoded = msgspec.json.decode(record.data)
    if isinstance(decoded, dict):
        pairs = cast("dict[str, Any]", decoded).items()
        return one_line(
            ", ".join(f"{name}: {_value(value)}" for name, value in pairs), PAYLOAD_WIDTH
        )
    return one_line(record.data, PAYLOAD_WIDTH)


def draw_branches(screen: Screen, lines: Sequence[BranchSummary]) -> None:
    """Print the branches as trees."""
    drawn: dict[str, Tree] = {}
    for line in lines:
        label = _branch(line)
        if line.parent is None:
            drawn[line.name] = Tree(label, guide_style=DIM)
        else:
            drawn[line.name] = drawn[line.parent].add(label)
    for line in lines:
        if line.parent is None:
            screen.draw(drawn[line.name])


class ImpactPreview(NamedTuple):
    """A planned change: its impact, the visible part of it, and the first facts of that."""

    impact: Impact
    seen: Impact
    hides: Sequence[ListedRecord]
    restores: Sequence[ListedRecord]
    now: datetime


def load_preview(
    session: Session, engine: Engine, impact: Impact, seen: Impact, *, most: int = PREVIEW_FACTS_MAX
) -> ImpactPreview:
    """Load the first facts of an impact, of which `seen` is the visible part."""
    hides, restores = (
        engine.ask(FactsAtPositions(tuple(fact.position for fact in touched[:most])))
        for touched in (seen.hides, seen.restores)
    )
    return ImpactPreview(impact, seen, hides, restores, session.now)


def draw_preview(screen: Screen, what: ImpactPreview, *, lead: str) -> None:
    """Print a change before it is made: the counts, then the facts."""
    impact = what.impact
    screen.paragraph((lead, BOLD))
    if impact.hides:
        number = plural(len(impact.hides), "fact")
        screen.paragraph(f"{number} would be hidden{format_kinds(what.seen)}.")
        draw_first_facts(screen, what.hides, len(impact.hides), what.now)
    if impact.restores:
        screen.paragraph(f"{plural(len(impact.restores), 'fact')} would be restored.")
        draw_first_facts(screen, what.restores, len(impact.restores), what.now)
    if not impact.hides and not impact.restores:
        screen.paragraph("No changes.")


def draw_first_facts(
    screen: Screen, shown: Sequence[ListedRecord], number: int, now: datetime
) -> None:
    """Print the first of many facts and how many more there are."""
    if not shown:
        screen.paragraph(("Facts by others are not shown.", DIM))
        return
    draw_facts(screen, shown, now)
    if number > len(shown):
        screen.paragraph((f"… and {number - len(shown):,} more", DIM))


def format_kinds(what: Impact) -> str:
    """The number of facts per kind that a change would hide, after a colon; empty if none."""
    listed = ", ".join(f"{kind} ({number})" for kind, number in what.hidden_by_kind().items())
    return f": {listed}" if listed else ""


def plural(number: int, noun: str) -> str:
    """A number with its noun: `1 fact`, `2 facts`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _row(sighting: ListedRecord, now: datetime) -> tuple[Text, ...]:
    record = sighting.record
    at = from_microseconds(record.recorded_us)
    when = f"{format_short(at, now)}, {format_age(at, now)}"
    envelope = (str(record.position), when, record.actor, _short(record.stream))
    if sighting.verdict != "counts":
        why = f"[{MARKS[sighting.verdict]}] {record.kind} {format_payload(record)}"
        return tuple(styled_text((text, DIM)) for text in (*envelope, why))
    position, when, actor, stream = envelope
    content = styled_text((record.kind, NAME), " ", format_payload(record))
    return (
        styled_text((position, BOLD)),
        styled_text((when, DIM)),
        styled_text(actor),
        styled_text(stream),
        content,
    )


def _short(stream: str) -> str:
    """The name of a stream, shortened in the middle if it is long."""
    if len(stream) <= STREAM_WIDTH:
        return stream
    root, colon, _ = stream.partition(":")
    return f"{root[:STREAM_END]}{colon}…{stream[-STREAM_END:]}"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _branch(line: BranchSummary) -> Text:
    origin = f", forked from {line.parent} after position {line.at}" if line.parent else ""
    here = ("  ← current branch", GOOD) if line.standing else ""
    name = (line.name, f"{BOLD} {NAME}" if line.standing else NAME)
    return styled_text(name, (f"  {plural(line.facts, 'fact')}{origin}", DIM), here)
