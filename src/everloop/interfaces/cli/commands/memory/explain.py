"""`everloop explain`: why a memory matches a question, or which step excluded it."""

from argparse import Namespace

from everloop.errors import NotFound
from everloop.interfaces.cli.audience import effective_principal, read_point
from everloop.interfaces.cli.commands.memory.recall import embed_before_search, search_request
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.screen import BAD, BOLD, DIM, GOOD, Screen, styled_text
from everloop.interfaces.cli.session import Session
from everloop.memory import SearchGate, SearchPath, explain_item, load_viewer, resolve_id

MARKS = {"passed": ("✓", GOOD), "stopped": ("✗", BAD), "nothing": ("·", DIM)}
NAMES: dict[SearchGate, str] = {
    "here": "exists",
    "scope": "scope",
    "audience": "audience",
    "retired": "retired",
    "filter": "filter",
    "words": "keywords",
    "meaning": "meaning",
    "more": "boosts",
    "rank": "rank",
}


def explain(session: Session, args: Namespace) -> None:
    """Show how each step of the search treats a memory."""
    principal = effective_principal(session, args)
    question = search_request(session, args)
    with session.open_for_reading() as engine:
        view = read_point(session, engine, args)
        embed_before_search(session, engine, question)
        with engine.reading(**view) as reader:
            item_id = resolve_id(reader, load_viewer(reader, session.actor), args.item)
        found = explain_item(engine.memory, session.actor, principal, item_id, question, **view)
    if found.item is None and found.verdict.reason == "unknown":
        raise NotFound(found.verdict.sentence, hint="Run `everloop memories` to list all memories.")
    session.print_result(
        {
            "item_id": item_id,
            "principal": principal,
            "question": question.text,
            "found": found.found,
            "reason": found.verdict.reason,
            "steps": found.steps,
            "why": found.verdict.why,
        },
        lambda screen: _draw(screen, session, found),
    )


def _draw(screen: Screen, session: Session, found: SearchPath) -> None:
    if found.item is not None:
        memory_items.draw_items(screen, [found.item], session.now)
        screen.blank_line()
    screen.table(
        ("", "", ""),
        [
            (styled_text(MARKS[step.state]), styled_text((NAMES[step.gate], BOLD)), step.sentence)
            for step in found.steps
        ],
    )
