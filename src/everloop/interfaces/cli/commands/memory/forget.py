"""`everloop forget`: retire a memory, or erase it permanently."""

from argparse import Namespace

from everloop.app import Engine
from everloop.errors import Forbidden
from everloop.interfaces.cli.audience import command_context, find_visible_item
from everloop.interfaces.cli.commands.log import purge
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.exit_codes import DECLINED
from everloop.interfaces.cli.output.json_shapes import receipt_json
from everloop.interfaces.cli.output.screen import BOLD, GOOD, NAME, WARNING, Screen
from everloop.interfaces.cli.session import Session
from everloop.memory import OWNER, Item, RetireItem, short_id, user_citers
from everloop.thread import original_positions


def forget(session: Session, args: Namespace) -> int | None:
    """Retire a memory, or erase it with `--erase`."""
    with session.open_engine() as engine:
        item = find_visible_item(session, engine, args.item)
        if args.erase:
            return _erase(session, engine, item, args)
        return _retire(session, engine, item, args)


def _retire(session: Session, engine: Engine, item: Item, args: Namespace) -> int | None:
    citers = _citers(engine, item) if session.actor == OWNER else []

    def preview(screen: Screen) -> None:
        screen.paragraph(("Retiring", BOLD))
        memory_items.draw_items(screen, [item], session.now)
        screen.paragraph(
            "It will no longer appear in search results. You can still open it by its ID, and undo"
            " this later."
        )
        if citers:
            screen.paragraph(
                (f"It is cited by something you wrote: {', '.join(citers)}.", WARNING),
                "" if args.force else " Pass --force to retire it anyway.",
            )

    if args.preview:
        about = {"item": item, "cited_by_user": citers, "already": item.retired}
        session.print_result(about, preview)
        return None
    if not (item.retired or session.confirm(preview, "Retire it?")):
        return DECLINED
    command = RetireItem(item.item_id, args.reason, args.force)
    receipt = engine.do(command, by=command_context(session))

    def draw(screen: Screen) -> None:
        if not receipt.facts:
            screen.paragraph((short_id(item.item_id), NAME), " was already retired.")
            return
        screen.paragraph(("Retired", GOOD), " ", (short_id(item.item_id), NAME), f": {item.title}")
        memory_items.draw_undo(screen, [receipt.position])

    session.print_result({**receipt_json(receipt), "item_id": item.item_id}, draw)
    return None


def _erase(session: Session, engine: Engine, item: Item, args: Namespace) -> int | None:
    if session.actor != OWNER:
        raise Forbidden(
            f"{session.actor} cannot erase memories", hint="Only the user can, at a terminal."
        )
    with engine.reading() as reader:
        args.positions = [*original_positions(reader, item), item.position]
    args.reason = args.reason or "forgotten"
    return purge.purge_positions(session, engine, args)


def _citers(engine: Engine, item: Item) -> list[str]:
    with engine.reading() as reader:
        return user_citers(reader, item.item_id)
