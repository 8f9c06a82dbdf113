"""`everloop memories`, `memories show` and `zoom`: listing and showing memories."""

from argparse import Namespace
from collections.abc import Iterator

from rich.text import Text
from rich.tree import Tree

from everloop.errors import Invalid
from everloop.interfaces.cli.audience import (
    build_filter,
    check_has_grant,
    effective_principal,
    is_filtered,
    missing_grant_notes,
    read_point,
)
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.screen import BOLD, DIM, NAME, Screen, styled_text
from everloop.interfaces.cli.output.times import format_with_age
from everloop.interfaces.cli.session import Session
from everloop.lessons import visible_citer_names
from everloop.memory import (
    CitationLink,
    Item,
    ItemHistory,
    ZoomedItem,
    item_history,
    load_viewer,
    page_by_time,
    resolve_item,
    short_id,
)
from everloop.memory import zoom as zoomed


def list_memories(session: Session, args: Namespace) -> None:
    """List memories, newest first."""
    if args.offset < 0:
        raise Invalid("--offset must not be negative", hint="Use 0 or more.")
    principal = effective_principal(session, args)
    with session.open_for_reading() as engine:
        check_has_grant(session, engine)
        with engine.reading(**read_point(session, engine, args)) as reader:
            found, number = page_by_time(
                reader,
                load_viewer(reader, principal),
                build_filter(session, args),
                pinned=args.pinned,
                limit=args.limit,
                offset=args.offset,
            )
        notes = missing_grant_notes(engine, principal)

    def draw(screen: Screen) -> None:
        if found:
            memory_items.draw_items(screen, found, session.now)
        elif not number and is_filtered(args):
            screen.advice(
                "No matches. Run `everloop memories` without filters to list all memories."
            )
        elif not number and not notes:
            screen.advice("No memories yet. Run `everloop remember TEXT` to save one.")
        if number > len(found):
            screen.paragraph((f"Showing {len(found):,} of {number:,}.", DIM))
        screen.notes(notes)

    session.print_result({"items": found, "number": number, "notes": notes}, draw)


def show(session: Session, args: Namespace) -> None:
    """Show a memory with its sources and versions."""
    principal = effective_principal(session, args)
    with session.open_for_reading() as engine:
        view = read_point(session, engine, args)
        with engine.reading(**view) as reader:
            history = item_history(
                reader, load_viewer(reader, principal), args.item, visible_citer_names
            )
    session.print_result(history, lambda screen: _draw_history(screen, history, session))


def zoom(session: Session, args: Namespace) -> None:
    """Show the sources of a memory as a tree."""
    principal = effective_principal(session, args)
    with session.open_for_reading() as engine:
        view = read_point(session, engine, args)
        with engine.reading(**view) as reader:
            who = load_viewer(reader, principal)
            found = zoomed(reader, who, resolve_item(reader, who, args.item).item_id)
    session.print_result(found, lambda screen: _draw_tree(screen, found, session))


def _draw_history(screen: Screen, history: ItemHistory, session: Session) -> None:
    item = history.item
    screen.paragraph((item.title, BOLD), (f"  {item.item_id}", DIM))
    if item.text.strip() != item.title:
        screen.blank_line()
        screen.paragraph(item.text)
    screen.blank_line()
    screen.fields(_fields(history, session))
    if len(history.versions) > 1:
        screen.blank_line()
        screen.paragraph(("Versions", BOLD))
        screen.table(
            ("#position", "recorded", "by", "scope", "text"),
            [
                (str(v.position), format_with_age(v.at, session.now), v.by, v.scope, v.text)
                for v in history.versions
            ],
            cut=True,
        )
    if history.repeats:
        screen.blank_line()
        screen.paragraph((f"Repeated {_times(len(history.repeats))}", BOLD))
        screen.table(
            ("#position", "recorded", "by", "#similarity", "text"),
            [
                (
                    str(each.position),
                    format_with_age(each.at, session.now),
                    each.by,
                    f"{each.similarity:.0%}",
                    each.text,
                )
                for each in history.repeats
            ],
            cut=True,
        )
    if history.variants:
        screen.blank_line()
        screen.paragraph(("Near duplicates", BOLD))
        memory_items.draw_items(screen, history.variants, session.now)
    if history.contradictions:
        screen.blank_line()
        screen.paragraph(("Contradicted by", BOLD))
        memory_items.draw_contradictions(screen, history.contradictions, session.now)


def _fields(history: ItemHistory, session: Session) -> Iterator[tuple[str, str]]:
    item = history.item
    yield "kind", item.kind
    yield "scope", item.scope
    yield "witnesses", ", ".join(item.witnesses) or "everyone with access to the scope"
    yield "importance", f"{item.significance}, {memory_items.LEVELS[item.significance]}"
    yield "pinned", "yes" if item.pinned else ""
    retired = f"yes: {history.retired_because}" if history.retired_because else "yes"
    yield "retired", retired if item.retired else ""
    yield "happened", format_with_age(item.happened_at, session.now)
    yield (
        "recorded",
        f"{format_with_age(item.recorded_at, session.now)} at position {item.position}",
    )
    yield (
        "expires",
        memory_items.format_until(item.holds_until, session.now) if item.holds_until else "",
    )
    yield "by", item.authors
    yield "source", item.learned_via
    yield "origin", _origin(item)
    yield "follows", item.follows
    yield "because", ", ".join(f"position {position}" for position in history.because)
    yield "derived from", ", ".join(map(short_id, item.derived_from))
    yield "cited by", ", ".join(map(_citation, history.citations))


def _citation(link: CitationLink) -> str:
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


def _draw_tree(screen: Screen, found: list[ZoomedItem], session: Session) -> None:
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
    tree = Tree(_leaf(root, session, again=False, wide=screen.wide), guide_style=DIM)
    grow(tree, root)
    screen.draw(tree)
    if not root.derived_from:
        screen.paragraph(("This memory has no sources.", DIM))


def _leaf(item: Item, session: Session, *, again: bool, wide: bool) -> Text:
    """One line of the tree, or two in a narrow terminal, cut to the width."""
    more = (
        styled_text(("(see above)", DIM)) if again else memory_items.item_details(item, session.now)
    )
    name = styled_text((short_id(item.item_id), NAME))
    head = Text("  ").join((name, more))
    leaf = Text("  " if wide else "\n").join((head, memory_items.item_line(item, session.now)))
    leaf.no_wrap, leaf.overflow = True, "ellipsis"
    return leaf
