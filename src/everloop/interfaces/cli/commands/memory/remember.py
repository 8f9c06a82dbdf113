"""`everloop remember`: save a memory, or link it to an existing near duplicate."""

from argparse import Namespace
from datetime import datetime
from typing import Any, NamedTuple

from everloop.app import Engine
from everloop.errors import Invalid
from everloop.interfaces.cli.audience import command_context
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.screen import BOLD, DIM, GOOD, NAME, WARNING, Screen
from everloop.interfaces.cli.output.times import format_age, format_short, is_midnight
from everloop.interfaces.cli.parsing.time_argument import parse_time
from everloop.interfaces.cli.session import Session
from everloop.log import Receipt
from everloop.memory import (
    DURABLE,
    Item,
    PinItem,
    RateItem,
    RememberItem,
    RememberResult,
    items_with_ids,
    load_viewer,
    short_id,
)

FOR_GOOD = {DURABLE, "9999-12-31"}  # the date that people type for "never"


class _Result(NamedTuple):
    """The result of saving a memory, as far as the actor may see it."""

    said: RememberItem
    kept: RememberResult
    item: Item | None
    contradicts: list[Item]
    gave_way: list[Item]
    rated: bool


def remember(session: Session, args: Namespace) -> None:
    """Save a memory, or link it to an existing one with the same content."""
    new = _new_memory(session, args)
    with session.open_engine() as engine:
        lasting = args.until is not None and new.durability == DURABLE
        kept = engine.memory.remember(new, by=command_context(session), lasting=lasting)
        receipts = _rate_and_pin(session, engine, args, kept.item_id)
        item, others, gone = _visible_items(session, engine, kept, receipts)
    positions = [kept.position, *(each.facts[0].position for each in receipts if each.facts)]
    result = _Result(new, kept, item, others, gone, rated=bool(args.significance))
    answer: dict[str, Any] = {
        "item_id": kept.item_id,
        "new": kept.new,
        "similarity": kept.similarity,
        "item": item,
        "contradicts": others,
        "varies": kept.varies,
        "passes": kept.passes,
        "positions": positions,
        "gave_way": [each.item_id for each in gone],
    }
    session.print_result(answer, lambda screen: _draw(screen, session, result, positions))


def read_memory_text(session: Session, words: list[str]) -> str:
    """The text of the command line, or standard input if it is `-`."""
    text = session.read_text(" ".join(words)).rstrip("\n")
    if not text.strip():
        raise Invalid("the text is empty", hint="Give at least one word.")
    return text


def _new_memory(session: Session, args: Namespace) -> RememberItem:
    now = session.now
    return RememberItem(
        item_id="",
        text=read_memory_text(session, args.text),
        title=args.title,
        kind=args.kind,
        scope=args.scope,
        witnesses=tuple(args.witness),
        happened_at="" if args.happened is None else parse_time(args.happened, now).isoformat(),
        durability=DURABLE if _is_durable(args.until) else _end(args.until, now).isoformat(),
    )


def _is_durable(until: str | None) -> bool:
    return until is None or until.strip() in FOR_GOOD


def _end(until: str, now: datetime) -> datetime:
    end = parse_time(until, now, end=True, example="tomorrow")
    if end <= now:
        raise Invalid(
            f"{until!r} is in the past",
            hint="Give --until a future time such as `next Friday`; --happened is for the past.",
        )
    return end


def _rate_and_pin(session: Session, engine: Engine, args: Namespace, item_id: str) -> list[Receipt]:
    """Rate and pin the memory, if the options say so."""
    commands: list[RateItem | PinItem] = []
    if args.significance:
        commands.append(RateItem(item_id, int(args.significance)))
    if args.pin:
        commands.append(PinItem(item_id))
    return [engine.do(command, by=command_context(session)) for command in commands]


def _visible_items(
    session: Session, engine: Engine, kept: RememberResult, receipts: list[Receipt]
) -> tuple[Item | None, list[Item], list[Item]]:
    """The memory, those it contradicts and those it unpinned, as far as the actor may see them."""
    with engine.reading() as reader:
        who = load_viewer(reader, session.actor)
        found = {item.item_id: item for item in items_with_ids(reader, who, (kept.item_id,))}
        gone = [each for one in receipts for each in memory_items.evicted_pins(reader, who, one)]
        return found.get(kept.item_id), items_with_ids(reader, who, kept.contradicts), gone


def _draw(screen: Screen, session: Session, result: _Result, positions: list[int]) -> None:
    kept, item, others = result.kept, result.item, result.contradicts
    name = short_id(kept.item_id)
    if kept.new:
        screen.paragraph(("Saved", GOOD), " as ", (name, NAME), ".")
        _draw_times(screen, result.said, session.now)
        if kept.passes:
            _draw_expiry(screen, datetime.fromisoformat(kept.passes), session.now)
    else:
        alike = f"{kept.similarity:.0%} similar" if kept.similarity < 1 else "identical"
        screen.paragraph(("Already saved", BOLD), f" ({alike}); recorded as a repetition:")
        if item is not None:
            memory_items.draw_items(screen, [item], session.now)
        screen.paragraph(("If it happened again, add the date: --happened today.", DIM))
    if kept.varies:
        screen.paragraph("Near duplicate of ", (short_id(kept.varies), NAME), ". Both are kept.")
    if others and item is not None:
        screen.paragraph(("This contradicts an earlier memory.", WARNING), " Both are kept:")
        memory_items.draw_contradictions(screen, [item, *others], session.now)
    if item is not None:
        memory_items.draw_pin_changes(screen, item, result.gave_way, rated=result.rated)
    memory_items.draw_undo(screen, positions if not kept.new else positions[:1])


def _draw_times(screen: Screen, said: RememberItem, now: datetime) -> None:
    """Print how the given times were understood."""
    if said.happened_at:
        at = datetime.fromisoformat(said.happened_at)
        ago = "" if at > now or is_midnight(at) else f", {format_age(at, now)}"
        screen.paragraph((f"Date: {format_short(at, now)}{ago}.", DIM))
    if said.durability != DURABLE:
        end = datetime.fromisoformat(said.durability)
        screen.paragraph((f"Expires: {memory_items.format_until(end, now)}.", DIM))


def _draw_expiry(screen: Screen, end: datetime, now: datetime) -> None:
    """Print when a status note expires, why, and how to keep it."""
    expires = f"{'Expires' if end > now else 'Expired'}: {memory_items.format_until(end, now)}"
    screen.paragraph(
        (expires, WARNING), ", because it starts like a status note (HANDOFF, RESUME, TO SHIP)."
    )
    screen.paragraph(("To keep it, undo this and save it with --until durable.", DIM))
