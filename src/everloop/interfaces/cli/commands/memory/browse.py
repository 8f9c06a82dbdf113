"""`everloop memories`, `memories show` and `zoom`: listing and showing memories."""

from argparse import Namespace
from collections.abc import Iterator

from rich.text import Text
from rich.tree import Tree

from everloop.errors import Invalid
from everloop.interfaces.cli.audience import narrowed, not_let_in, only, principal_of, standpoint
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
    """List memories, newest first."""
    if args.offset < 0:
        raise Invalid("--offset must not be negative", hint="Use 0 or more.")
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
            screen.say("No matches. Run `everloop memories` without filters to list all memories.")
        elif not number:
            screen.say("No memories yet. Run `everloop remember TEXT` to save one.")
        if number > len(found):
            screen.say((f"Showing {len(found):,} of {number:,}.", FAINT))
        screen.notes(notes)

    session.answer({"items": found, "number": number, "notes": notes}, draw)


def show(session: Session, args: Namespace) -> None:
    """Show a memory with its sources and versions."""
    principal = principal_of(session, args)
    with session.looking() as engine:
        view = standpoint(session, engine, args)
        with engine.reading(**view) as reader:
            history = life(reader, asker(reader, principal), args.item, known_citers)
    session.answer(history, lambda screen: _draw_history(screen, history, session))


def zoom(session: Session, args: Namespace) -> None:
    """Show the sources of a memory as a tree."""
    principal = principal_of(session, args)
    with session.looking() as engine:
        view = standpoint(session, engine, args)
        with engine.reading(**view) as reader:
            who = asker(reader, principal)
            found = zoomed(reader, who, named(reader, who, args.item).item_id)
    session.answer(found, lambda screen: _draw_tree(screen, found, session))


def _draw_history(screen: Screen, history: Life, session: Session) -> None:
    item = history.item
    screen.say((item.title, STRONG), (f"  {item.item_id}", FAINT))
    if item.text.strip() != item.title:
        screen.gap()
        screen.say(item.text)
    screen.gap()
    screen.fields(_fields(history, session))
    if len(history.versions) > 1:
        screen.gap()
        screen.say(("Versions", STRONG))
        screen.table(
            ("#position", "recorded", "by", "scope", "text"),
            [
                (str(v.position), local_with_age(v.at, session.now), v.by, v.scope, v.text)
                for v in history.versions
            ],
            cut=True,
        )
    if history.repeats:
        screen.gap()
        screen.say((f"Repeated {_times(len(history.repeats))}", STRONG))
        screen.table(
            ("#position", "recorded", "by", "#similarity", "text"),
            [
                (
                    str(each.position),
                    local_with_age(each.at, session.now),
                    each.by,
                    f"{each.similarity:.0%}",
                    each.text,
                )
                for each in history.repeats
            ],
            cut=True,
        )
    if history.variants:
        screen.gap()
        screen.say(("Near duplicates", STRONG))
        memory_items.table(screen, history.variants, session.now)
    if history.contradictions:
        screen.gap()
        screen.say(("Contradicted by", STRONG))
        memory_items.against(screen, history.contradictions, session.now)


def _fields(history: Life, session: Session) -> Iterator[tuple[str, str]]:
    item = history.item
    yield "kind", item.kind
    yield "scope", item.scope
    yield "witnesses", ", ".join(item.witnesses) or "everyone with access to the scope"
    yield "importance", f"{item.significance}, {memory_items.LEVELS[item.significance]}"
    yield "pinned", "yes" if item.pinned else ""
    retired = f"yes: {history.retired_because}" if history.retired_because else "yes"
    yield "retired", retired if item.retired else ""
    yield "happened", local_with_age(item.happened_at, session.now)
    yield "recorded", f"{local_with_age(item.recorded_at, session.now)} at position {item.position}"
    yield (
        "expires",
        memory_items.until(item.holds_until, session.now) if item.holds_until else "",
    )
    yield "by", item.author
    yield "source", item.learned_via
    yield "origin", _origin(item)
    yield "follows", item.follows
    yield "because", ", ".join(f"position {position}" for position in history.because)
    yield "derived from", ", ".join(map(handle, item.derived_from))
    yield "cited by", ", ".join(map(_citation, history.citations))


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
        screen.say(("This memory has no sources.", FAINT))


def _leaf(item: Item, session: Session, *, again: bool, wide: bool) -> Text:
    """One line of the tree, or two in a narrow terminal, cut to the width."""
    more = styled(("(see above)", FAINT)) if again else memory_items.about(item, session.now)
    name = styled((handle(item.item_id), NAME))
    head = Text("  ").join((name, more))
    leaf = Text("  " if wide else "\n").join((head, memory_items.said(item, session.now)))
    leaf.no_wrap, leaf.overflow = True, "ellipsis"
    return leaf
