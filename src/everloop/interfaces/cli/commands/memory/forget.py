"""`everloop forget`: retire a memory, or erase it permanently."""

from argparse import Namespace

from everloop.app import Engine
from everloop.errors import Forbidden
from everloop.interfaces.cli.audience import speaker, the_item
from everloop.interfaces.cli.commands.log import purge
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.exit_codes import DECLINED
from everloop.interfaces.cli.output.json_shapes import receipt_of
from everloop.interfaces.cli.output.screen import GOOD, NAME, STRONG, WARNING, Screen
from everloop.interfaces.cli.session import Session
from everloop.memory.browse.queries import handle
from everloop.memory.model.commands import RetireItem
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.citations import user_citers
from everloop.memory.projections.queries import Item
from everloop.thread.queries.originals import originals


def forget(session: Session, args: Namespace) -> int | None:
    """Retire a memory, or erase it with `--erase`."""
    with session.engine() as engine:
        item = the_item(session, engine, args.item)
        if args.erase:
            return _erase(session, engine, item, args)
        return _retire(session, engine, item, args)


def _retire(session: Session, engine: Engine, item: Item, args: Namespace) -> int | None:
    citers = _citers(engine, item) if session.actor == OWNER else []

    def preview(screen: Screen) -> None:
        screen.say(("Retiring", STRONG))
        memory_items.table(screen, [item], session.now)
        screen.say(
            "It will no longer appear in search results. You can still open it by its ID, and undo"
            " this later."
        )
        if citers:
            screen.say(
                (f"It is cited by something you wrote: {', '.join(citers)}.", WARNING),
                "" if args.force else " Pass --force to retire it anyway.",
            )

    if args.preview:
        about = {"item": item, "cited_by_user": citers, "already": item.retired}
        session.answer(about, preview)
        return None
    if not (item.retired or session.agreed(preview, "Retire it?")):
        return DECLINED
    command = RetireItem(item.item_id, args.reason, args.force)
    receipt = engine.do(command, by=speaker(session))

    def draw(screen: Screen) -> None:
        if not receipt.facts:
            screen.say((handle(item.item_id), NAME), " was already retired.")
            return
        screen.say(("Retired", GOOD), " ", (handle(item.item_id), NAME), f": {item.title}")
        memory_items.undo(screen, [receipt.position])

    session.answer({**receipt_of(receipt), "item_id": item.item_id}, draw)
    return None


def _erase(session: Session, engine: Engine, item: Item, args: Namespace) -> int | None:
    if session.actor != OWNER:
        raise Forbidden(
            f"{session.actor} cannot erase memories", hint="Only the user can, at a terminal."
        )
    with engine.reading() as reader:
        args.positions = [*originals(reader, item), item.position]
    args.reason = args.reason or "forgotten"
    return purge.purge_from(session, engine, args)


def _citers(engine: Engine, item: Item) -> list[str]:
    with engine.reading() as reader:
        return user_citers(reader, item.item_id)
