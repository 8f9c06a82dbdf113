"""`everloop lessons propose`, `edit` and `narrate`: write the text of lessons."""

from argparse import Namespace

from everloop.app import Engine
from everloop.completion import Declined
from everloop.errors import Invalid
from everloop.interfaces.cli.audience import command_context, find_visible_item
from everloop.interfaces.cli.commands.lessons.lifecycle import print_lesson_change
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.screen import DIM, GOOD, NAME, WARNING, Screen
from everloop.interfaces.cli.session import USER, Session
from everloop.lessons import (
    EditLesson,
    Evidence,
    MemoryEvidence,
    Narrative,
    ProposeLesson,
    QuoteEvidence,
)


def propose(session: Session, args: Namespace) -> None:
    """Propose a lesson."""
    body = session.read_text(args.body)
    with session.open_engine() as engine:
        new = ProposeLesson(
            lesson_id="",
            description=args.description,
            body=body,
            scope=args.scope,
            evidence=_evidence(session, engine, args),
            target_skill=args.skill,
        )
        done = engine.lessons.propose(new, by=command_context(session))

    def draw(screen: Screen) -> None:
        screen.paragraph(("Proposed", GOOD), ": ", (done.lesson_id, NAME), ".")
        screen.advice((f"Requirements for promotion: everloop gate {done.lesson_id}", DIM))
        if session.actor == USER:
            memory_items.draw_undo(screen, [done.position])
        else:  # only the user may retract facts about lessons
            screen.advice((f"To undo: everloop lessons discard {done.lesson_id}", DIM))

    session.print_result(done, draw)


def edit(session: Session, args: Namespace) -> None:
    """Change the text of a lesson."""
    if args.description is None and args.body is None:
        raise Invalid("nothing to change", hint="Give --description or --body.")
    body = None if args.body is None else session.read_text(args.body)
    change = EditLesson(args.lesson, args.description, body)
    with session.open_engine() as engine:
        before = engine.lessons.find(session.actor, args.lesson)
        after = engine.lessons.edit(change, by=command_context(session))
    changed = before.digest != after.digest
    print_lesson_change(session, after, "was updated" if changed else "is unchanged")


def narrate(session: Session, args: Namespace) -> None:
    """Explain why a lesson holds, or let a model explain it."""
    with session.open_engine() as engine:
        narrative = _narrative(session, engine, args)
        outcome = engine.lessons.narrate(
            args.lesson, by=command_context(session), narrative=narrative
        )
    if isinstance(outcome, Declined):
        reason = outcome.reason
        session.print_result(
            {"lesson_id": args.lesson, "declined": reason},
            lambda screen: screen.paragraph(("The model declined", WARNING), f": {reason}"),
        )
        return
    print_lesson_change(session, outcome, "has a narrative")


def _narrative(session: Session, engine: Engine, args: Namespace) -> Narrative | None:
    parts = (args.trigger, args.failure, args.correction)
    if parts == (None, None, None):
        if args.cites or args.quote:
            raise Invalid(
                "--cites and --quote do not apply when a model writes the narrative",
                hint="Add --trigger, --failure and --correction, or leave the evidence out.",
            )
        return None
    if None in parts:
        raise Invalid(
            "a narrative needs three parts", hint="Give --trigger, --failure and --correction."
        )
    evidence = _evidence(session, engine, args)
    return Narrative(*parts, confidence=args.confidence, evidence=evidence)


def _evidence(session: Session, engine: Engine, args: Namespace) -> tuple[Evidence, ...]:
    cited = [
        MemoryEvidence(find_visible_item(session, engine, name).item_id) for name in args.cites
    ]
    return (*cited, *(QuoteEvidence(words) for words in args.quote))
