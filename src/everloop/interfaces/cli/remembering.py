"""`everloop remember`: taking something in, and saying whether it was new."""

from argparse import Namespace
from typing import Any

from everloop.app import Engine
from everloop.errors import Invalid
from everloop.interfaces.cli import items
from everloop.interfaces.cli.dates import moment_of
from everloop.interfaces.cli.eyes import speaker
from everloop.interfaces.cli.screen import GOOD, NAME, STRONG, WARNING, Screen
from everloop.interfaces.cli.session import Session
from everloop.memory.browsing import handle, these
from everloop.memory.commands import PinItem, RateItem, RememberItem
from everloop.memory.decide import DURABLE
from everloop.memory.keeper import Kept
from everloop.memory.shelf import Item, asker


def remember(session: Session, asked: Namespace) -> None:
    """Take something in, or link it to what says the same already."""
    new = _asked_for(session, asked)
    with session.engine() as engine:
        kept = engine.memory.remember(new, by=speaker(session))
        positions = [kept.position, *_marked(session, engine, asked, kept.item_id)]
        item, others = _shown(session, engine, kept)
    answer: dict[str, Any] = {
        "item_id": kept.item_id,
        "new": kept.new,
        "similarity": kept.similarity,
        "item": item,
        "contradicts": others,
        "positions": positions,
    }
    session.answer(answer, lambda screen: _draw(screen, session, kept, item, others, positions))


def typed(session: Session, words: list[str]) -> str:
    """Words from the command line, or from standard input if they are `-`."""
    text = session.stdin.read().rstrip("\n") if words == ["-"] else " ".join(words)
    if not text.strip():
        raise Invalid("there is nothing to remember", hint="Say it in at least one word.")
    return text


def _asked_for(session: Session, asked: Namespace) -> RememberItem:
    now = session.now
    return RememberItem(
        item_id="",
        text=typed(session, asked.text),
        title=asked.title,
        kind=asked.kind,
        scope=asked.scope,
        witnesses=tuple(asked.witness),
        happened_at=moment_of(asked.happened, now).isoformat() if asked.happened else "",
        durability=moment_of(asked.until, now, end=True).isoformat() if asked.until else DURABLE,
    )


def _marked(session: Session, engine: Engine, asked: Namespace, item_id: str) -> list[int]:
    """Rate and pin it if that was asked for; where that was recorded."""
    commands: list[RateItem | PinItem] = []
    if asked.significance:
        commands.append(RateItem(item_id, int(asked.significance)))
    if asked.pin:
        commands.append(PinItem(item_id))
    receipts = [engine.do(command, by=speaker(session)) for command in commands]
    return [receipt.position for receipt in receipts if receipt.facts]


def _shown(session: Session, engine: Engine, kept: Kept) -> tuple[Item | None, list[Item]]:
    """The item and what it contradicts, as far as the one who speaks may see them."""
    with engine.reading() as reader:
        who = asker(reader, session.actor)
        found = {item.item_id: item for item in these(reader, who, (kept.item_id,))}
        return found.get(kept.item_id), these(reader, who, kept.contradicts)


def _draw(
    screen: Screen,
    session: Session,
    kept: Kept,
    item: Item | None,
    others: list[Item],
    positions: list[int],
) -> None:
    name = handle(kept.item_id)
    if kept.new:
        screen.say(("Remembered", GOOD), " as ", (name, NAME), ".")
    else:
        alike = f"{kept.similarity:.0%} alike" if kept.similarity < 1 else "the same"
        screen.say(("Known already", STRONG), f" ({alike}); noted that it was said again:")
        if item is not None:
            items.table(screen, [item], session.now)
    if others and item is not None:
        screen.say(("It contradicts what was said before.", WARNING), " Both are kept:")
        items.against(screen, [item, *others], session.now)
    items.undo(screen, positions if not kept.new else positions[:1])
