"""`everloop revise`, `rate`, `pin` and `unpin`: change a memory. Each change is a fact."""

from argparse import Namespace
from collections.abc import Callable
from typing import NamedTuple

from everloop.app import Engine
from everloop.errors import Invalid
from everloop.interfaces.cli.audience import command_context, find_visible_item
from everloop.interfaces.cli.commands.memory.remember import read_memory_text
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.json_shapes import receipt_json
from everloop.interfaces.cli.output.screen import GOOD, NAME, Screen
from everloop.interfaces.cli.session import Session
from everloop.log import Command, Receipt
from everloop.memory import Item, PinItem, RateItem, ReviseItem, UnpinItem, load_viewer, short_id


class _Change(NamedTuple):
    """A memory after a change, and the receipt of the change."""

    item: Item
    receipt: Receipt
    gave_way: list[Item]
    rated: bool


def revise(session: Session, args: Namespace) -> None:
    """Change the text, scope or witnesses of a memory."""
    if args.everyone and args.witness:
        raise Invalid("--everyone and --witness cannot be combined", hint="Use one of them.")
    witnesses = tuple(args.witness) if args.witness or args.everyone else None
    text = None if args.text is None else read_memory_text(session, [args.text])
    given = (args.title, text, args.scope, witnesses)
    if all(part is None for part in given):
        raise Invalid(
            "nothing to change", hint="Give --text, --title, --scope, --witness or --everyone."
        )
    title, _, scope, _ = given
    _change(
        session,
        args.item,
        lambda item: ReviseItem(item.item_id, title, text, scope, witnesses, args.base),
        "Revised",
    )


def rate(session: Session, args: Namespace) -> None:
    """Set the importance of a memory."""
    level = int(args.significance)
    done = f"Rated {memory_items.LEVELS[level]}"
    _change(session, args.item, lambda item: RateItem(item.item_id, level), done)


def pin(session: Session, args: Namespace) -> None:
    """Pin a memory."""
    _change(session, args.item, lambda item: PinItem(item.item_id), "Pinned")


def unpin(session: Session, args: Namespace) -> None:
    """Unpin a memory."""
    _change(session, args.item, _unpin_command, "Unpinned")


def _unpin_command(item: Item) -> Command | None:
    return UnpinItem(item.item_id) if item.pinned else None


def _change(
    session: Session, name: str, command: Callable[[Item], Command | None], done: str
) -> None:
    """Run one command on a memory that the actor may see, if there is anything to do."""
    with session.open_engine() as engine:
        item = find_visible_item(session, engine, name)
        wanted = command(item)
        receipt = (
            engine.do(wanted, by=command_context(session))
            if wanted
            else _empty_receipt(engine, item)
        )
        now = find_visible_item(session, engine, item.item_id)
        with engine.reading() as reader:
            gone = memory_items.evicted_pins(reader, load_viewer(reader, session.actor), receipt)
    changed = _Change(now, receipt, gone, rated=isinstance(wanted, RateItem))
    session.print_result(
        {**receipt_json(receipt), "item": now, "gave_way": [each.item_id for each in gone]},
        lambda screen: _draw(screen, session, changed, done),
    )


def _empty_receipt(engine: Engine, item: Item) -> Receipt:
    """The receipt of a change that recorded nothing."""
    record = engine.log.record(item.version)
    return Receipt("", record.stream, record.branch, record.version, ())


def _draw(screen: Screen, session: Session, changed: _Change, done: str) -> None:
    item, receipt = changed.item, changed.receipt
    if not receipt.facts:
        screen.paragraph("No change needed: ", (short_id(item.item_id), NAME), ".")
        return
    screen.paragraph((done, GOOD), ":")
    memory_items.draw_items(screen, [item], session.now)
    memory_items.draw_pin_changes(screen, item, changed.gave_way, rated=changed.rated)
    memory_items.draw_undo(screen, [receipt.facts[0].position])
