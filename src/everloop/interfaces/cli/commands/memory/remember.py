"""`everloop remember`: taking something in, and saying whether it was new."""

from argparse import Namespace
from datetime import datetime
from typing import Any, NamedTuple

from everloop.app import Engine
from everloop.errors import Invalid
from everloop.interfaces.cli.audience import speaker
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.screen import FAINT, GOOD, NAME, STRONG, WARNING, Screen
from everloop.interfaces.cli.output.times import age, is_day, local_short
from everloop.interfaces.cli.parsing.dates import moment_of
from everloop.interfaces.cli.session import Session
from everloop.log import Receipt
from everloop.memory.browse.queries import handle, these
from everloop.memory.model.commands import PinItem, RateItem, RememberItem
from everloop.memory.model.decide import DURABLE
from everloop.memory.projections.queries import Item, asker
from everloop.memory.service import Kept

FOR_GOOD = {DURABLE, "9999-12-31"}  # the latter is what people type for a day that does not come


class Told(NamedTuple):
    """What became of what was said, as far as the one who speaks may see."""

    said: RememberItem
    kept: Kept
    item: Item | None
    contradicts: list[Item]
    gave_way: list[Item]
    rated: bool


def remember(session: Session, args: Namespace) -> None:
    """Take something in, or link it to what says the same already."""
    new = _asked_for(session, args)
    with session.engine() as engine:
        lasting = args.until is not None and new.durability == DURABLE
        kept = engine.memory.remember(new, by=speaker(session), lasting=lasting)
        receipts = _marked(session, engine, args, kept.item_id)
        item, others, gone = _shown(session, engine, kept, receipts)
    positions = [kept.position, *(each.facts[0].position for each in receipts if each.facts)]
    told = Told(new, kept, item, others, gone, rated=bool(args.significance))
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
    session.answer(answer, lambda screen: _draw(screen, session, told, positions))


def typed(session: Session, words: list[str]) -> str:
    """Words from the command line, or from standard input if they are `-`."""
    text = session.said(" ".join(words)).rstrip("\n")
    if not text.strip():
        raise Invalid("there is nothing to remember", hint="Say it in at least one word.")
    return text


def _asked_for(session: Session, args: Namespace) -> RememberItem:
    now = session.now
    return RememberItem(
        item_id="",
        text=typed(session, args.text),
        title=args.title,
        kind=args.kind,
        scope=args.scope,
        witnesses=tuple(args.witness),
        happened_at="" if args.happened is None else moment_of(args.happened, now).isoformat(),
        durability=DURABLE if _lasts(args.until) else _end(args.until, now).isoformat(),
    )


def _lasts(until: str | None) -> bool:
    return until is None or until.strip() in FOR_GOOD


def _end(until: str, now: datetime) -> datetime:
    end = moment_of(until, now, end=True)
    if end <= now:
        raise Invalid(
            f"{until!r} is over already: it would hold no more",
            hint="Give --until a time to come, such as `next Friday`; --happened is for the past.",
        )
    return end


def _marked(session: Session, engine: Engine, args: Namespace, item_id: str) -> list[Receipt]:
    """Rate and pin it if that was asked for."""
    commands: list[RateItem | PinItem] = []
    if args.significance:
        commands.append(RateItem(item_id, int(args.significance)))
    if args.pin:
        commands.append(PinItem(item_id))
    return [engine.do(command, by=speaker(session)) for command in commands]


def _shown(
    session: Session, engine: Engine, kept: Kept, receipts: list[Receipt]
) -> tuple[Item | None, list[Item], list[Item]]:
    """The item, what it contradicts and whose pins gave way, as far as the speaker may see them."""
    with engine.reading() as reader:
        who = asker(reader, session.actor)
        found = {item.item_id: item for item in these(reader, who, (kept.item_id,))}
        gone = [each for one in receipts for each in memory_items.gave_way(reader, who, one)]
        return found.get(kept.item_id), these(reader, who, kept.contradicts), gone


def _draw(screen: Screen, session: Session, told: Told, positions: list[int]) -> None:
    kept, item, others = told.kept, told.item, told.contradicts
    name = handle(kept.item_id)
    if kept.new:
        screen.say(("Remembered", GOOD), " as ", (name, NAME), ".")
        _draw_times(screen, told.said, session.now)
        if kept.passes:
            _draw_passing(screen, datetime.fromisoformat(kept.passes), session.now)
    else:
        alike = f"{kept.similarity:.0%} alike" if kept.similarity < 1 else "the same"
        screen.say(("Known already", STRONG), f" ({alike}); noted that it was said again:")
        if item is not None:
            memory_items.table(screen, [item], session.now)
        screen.say(("If it happened again, say when: --happened today.", FAINT))
    if kept.varies:
        screen.say("It is nearly the same as ", (handle(kept.varies), NAME), ". Both are kept.")
    if others and item is not None:
        screen.say(("It contradicts what was said before.", WARNING), " Both are kept:")
        memory_items.against(screen, [item, *others], session.now)
    if item is not None:
        memory_items.draw_pins(screen, item, told.gave_way, rated=told.rated)
    memory_items.undo(screen, positions if not kept.new else positions[:1])


def _draw_times(screen: Screen, said: RememberItem, now: datetime) -> None:
    """Which times were taken for those that were asked for."""
    if said.happened_at:
        at = datetime.fromisoformat(said.happened_at)
        ago = "" if at > now or is_day(at) else f", {age(at, now)}"
        screen.say((f"It happened {local_short(at, now)}{ago}.", FAINT))
    if said.durability != DURABLE:
        end = datetime.fromisoformat(said.durability)
        screen.say((f"It holds until {memory_items.until(end, now)}.", FAINT))


def _draw_passing(screen: Screen, end: datetime, now: datetime) -> None:
    """Until when a status note holds, why, and what to do if it lasts."""
    holds = f"{'holds' if end > now else 'held'} until {memory_items.until(end, now)}"
    screen.say(
        (f"It {holds}", WARNING), ", for it begins as status notes do: HANDOFF, RESUME, TO SHIP."
    )
    screen.say(("If it lasts, undo it and say so: --until durable.", FAINT))
