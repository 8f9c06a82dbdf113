"""`everloop memories`, `memories show` and `zoom`: looking at what is remembered."""

from argparse import Namespace
from collections.abc import Iterator

from rich.text import Text
from rich.tree import Tree

from everloop.errors import Invalid
from everloop.interfaces.cli.audience import narrowed, not_let_in, only, principal_of, standpoint
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.screen import FAINT, NAME, STRONG, Screen, styled
from everloop.interfaces.cli.output.times import local_with_age
from everloop.interfaces.cli.session import Session
from everloop.lessons.citers import known_citers
from everloop.memory.browse.queries import Life, handle, life, named, page
from everloop.memory.projections.citations import Link
from everloop.memory.projections.queries import Item, asker
from everloop.memory.summaries.zoom import Zoomed
from everloop.memory.summaries.zoom import zoom as zoomed


def list_memories(session: Session, args: Namespace) -> None:
    """List items, newest first."""
    if args.offset < 0:
        raise Invalid("--offset is a number of items to pass over", hint="Begin with 0.")
    principal = principal_of(session, args)
    with session.looking() as engine:
        with engine.reading(**standpoint(session, engine, args)) as reader:
            found, number = page(
                reader,
                asker(reader, principal),
                only(session, args),
                pinned=args.pinned,
                limit=args.limit,
                offset=args.offset,
            )
        notes = not_let_in(engine, principal)

    def draw(screen: Screen) -> None:
        if found:
            memory_items.table(screen, found, session.now)
        elif not number and narrowed(args):
            screen.say("Nothing fits. Without the filter, `everloop memories` lists what there is.")
        elif not number:
            screen.say("Nothing here. `everloop remember` takes something in.")
        if number > len(found):
            screen.say((f"{len(found)} of {plural(number, 'item')}", FAINT))
        screen.notes(notes)

    session.answer({"items": found, "number": number, "notes": notes}, draw)


def show(session: Session, args: Namespace) -> None:
    """Show one item, where it comes from and how it changed."""
    principal = principal_of(session, args)
    with session.looking() as engine:
        there = standpoint(session, engine, args)
        with engine.reading(**there) as reader:
            told = life(reader, asker(reader, principal), args.item, known_citers)
    session.answer(told, lambda screen: _draw_life(screen, told, session))


def zoom(session: Session, args: Namespace) -> None:
    """Show what an item was made of."""
    principal = principal_of(session, args)
    with session.looking() as engine:
        there = standpoint(session, engine, args)
        with engine.reading(**there) as reader:
            who = asker(reader, principal)
            found = zoomed(reader, who, named(reader, who, args.item).item_id)
    session.answer(found, lambda screen: _draw_tree(screen, found, session))


def _draw_life(screen: Screen, told: Life, session: Session) -> None:
    item = told.item
    screen.say((item.title, STRONG), (f"  {item.item_id}", FAINT))
    if item.text.strip() != item.title:
        screen.gap()
        screen.say(item.text)
    screen.gap()
    screen.fields(_fields(told, session))
    if len(told.versions) > 1:
        screen.gap()
        screen.say(("Versions", STRONG))
        screen.table(
            ("#position", "recorded", "by", "scope", "what"),
            [
                (str(v.position), local_with_age(v.at, session.now), v.by, v.scope, v.text)
                for v in told.versions
            ],
            cut=True,
        )
    if told.repeats:
        screen.gap()
        screen.say((f"Said again {_times(len(told.repeats))}", STRONG))
        screen.table(
            ("#position", "recorded", "by", "#alike", "what"),
            [
                (
                    str(each.position),
                    local_with_age(each.at, session.now),
                    each.by,
                    f"{each.similarity:.0%}",
                    each.text,
                )
                for each in told.repeats
            ],
            cut=True,
        )
    if told.variants:
        screen.gap()
        screen.say(("Nearly the same", STRONG))
        memory_items.table(screen, told.variants, session.now)
    if told.contradictions:
        screen.gap()
        screen.say(("Contradicted by", STRONG))
        memory_items.against(screen, told.contradictions, session.now)


def _fields(told: Life, session: Session) -> Iterator[tuple[str, str]]:
    item = told.item
    yield "kind", item.kind
    yield "scope", item.scope
    yield "witnesses", ", ".join(item.witnesses) or "everyone whom the scope admits"
    yield "matters", f"{item.significance}, {memory_items.LEVELS[item.significance]}"
    yield "pinned", "yes" if item.pinned else ""
    retired = f"yes: {told.retired_because}" if told.retired_because else "yes"
    yield "retired", retired if item.retired else ""
    yield "happened", local_with_age(item.happened_at, session.now)
    yield "recorded", f"{local_with_age(item.recorded_at, session.now)} at position {item.position}"
    yield (
        "holds until",
        memory_items.until(item.holds_until, session.now) if item.holds_until else "",
    )
    yield "by", item.author
    yield "learned", item.learned_via
    yield "origin", _origin(item)
    yield "follows", item.follows
    yield "because", ", ".join(f"position {position}" for position in told.because)
    yield "made of", ", ".join(map(handle, item.derived_from))
    yield "cited by", ", ".join(map(_citation, told.citations))


def _citation(link: Link) -> str:
    whose = " (written by you)" if link.by_user else ""
    return f"{link.citer}{whose}" if link.until is None else f"{link.citer}{whose}, no longer"


def _origin(item: Item) -> str:
    origin = item.origin
    parts = (
        ("host", origin.host),
        ("session", origin.session),
        ("model", origin.model),
        ("folder", origin.folder),
    )
    return ", ".join(f"{name} {value}" for name, value in parts if value)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _draw_tree(screen: Screen, found: list[Zoomed], session: Session) -> None:
    items_by_id = {each.item.item_id: each.item for each in found}
    drawn: set[str] = set()

    def grow(tree: Tree, item: Item) -> None:
        for source in item.derived_from:
            if source in items_by_id:
                again = source in drawn
                drawn.add(source)
                branch = tree.add(
                    _leaf(items_by_id[source], session, again=again, wide=screen.wide)
                )
                if not again:
                    grow(branch, items_by_id[source])

    root = found[0].item
    tree = Tree(_leaf(root, session, again=False, wide=screen.wide), guide_style=FAINT)
    grow(tree, root)
    screen.draw(tree)
    if not root.derived_from:
        screen.say(("It was made of nothing else.", FAINT))


def _leaf(item: Item, session: Session, *, again: bool, wide: bool) -> Text:
    """One line of the tree, cut to the width there is; two where that is narrow."""
    more = styled(("(see above)", FAINT)) if again else memory_items.about(item, session.now)
    name = styled((handle(item.item_id), NAME))
    head = Text("  ").join((name, more))
    leaf = Text("  " if wide else "\n").join((head, memory_items.said(item, session.now)))
    leaf.no_wrap, leaf.overflow = True, "ellipsis"
    return leaf
