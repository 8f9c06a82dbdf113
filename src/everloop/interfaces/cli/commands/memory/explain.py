"""`everloop explain`: why a memory matches a question, or which step excluded it."""

from argparse import Namespace

from everloop.errors import NotFound
from everloop.interfaces.cli.audience import principal_of, standpoint
from everloop.interfaces.cli.commands.memory.recall import embed, question_of
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.screen import BAD, FAINT, GOOD, STRONG, Screen, styled
from everloop.interfaces.cli.session import Session
from everloop.memory.explain import Gate, Path, id_of, path
from everloop.memory.projections.queries import asker

MARKS = {"passed": ("✓", GOOD), "stopped": ("✗", BAD), "nothing": ("·", FAINT)}
NAMES: dict[Gate, str] = {
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
    principal = principal_of(session, args)
    question = question_of(session, args)
    with session.looking() as engine:
        view = standpoint(session, engine, args)
        embed(session, engine, question)
        with engine.reading(**view) as reader:
            item_id = id_of(reader, asker(reader, session.actor), args.item)
        found = path(engine.memory, session.actor, principal, item_id, question, **view)
    if found.item is None and found.verdict.reason == "unknown":
        raise NotFound(found.verdict.sentence, hint="Run `everloop memories` to list all memories.")
    session.answer(
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


def _draw(screen: Screen, session: Session, found: Path) -> None:
    if found.item is not None:
        memory_items.table(screen, [found.item], session.now)
        screen.gap()
    screen.table(
        ("", "", ""),
        [
            (styled(MARKS[step.state]), styled((NAMES[step.gate], STRONG)), step.sentence)
            for step in found.steps
        ],
    )
