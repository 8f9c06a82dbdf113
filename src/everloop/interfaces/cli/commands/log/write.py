"""`everloop log note`, `fork`, `stand`, `rewind` and `retract`: write to the log."""

import shlex
from argparse import Namespace

from everloop.errors import Invalid
from everloop.interfaces.cli import fact_tables
from everloop.interfaces.cli.audience import visible_impact
from everloop.interfaces.cli.output.exit_codes import DECLINED
from everloop.interfaces.cli.output.json_shapes import impact_json, receipt_json
from everloop.interfaces.cli.output.screen import GOOD, NAME, Screen
from everloop.interfaces.cli.parsing.argument_types import format_positions
from everloop.interfaces.cli.permissions import (
    check_can_rewind,
    check_can_switch,
    check_can_undo,
    check_note_stream,
)
from everloop.interfaces.cli.session import Session
from everloop.log import MAIN, BranchForked, Draft, Impact, NoteWritten, Receipt


def note(session: Session, args: Namespace) -> None:
    """Add a note."""
    text = session.read_text(args.text).rstrip("\n")
    if not text.strip():
        raise Invalid("the note is empty", hint="Give some text.")
    with session.open_engine() as engine:
        receipt = engine.log.append(
            check_note_stream(args.stream),
            [Draft(NoteWritten(text=text), because=tuple(args.because))],
            actor=session.actor,
            branch=args.branch,
            expected=args.expected,
            request_id=args.request_id,
        )
    done = "Already recorded" if receipt.repeated else "Recorded"
    where = f" at position {receipt.position}, version {receipt.version} of "
    session.print_result(
        receipt_json(receipt),
        lambda screen: screen.paragraph((done, GOOD), where, (receipt.stream, NAME), "."),
    )


def fork(session: Session, args: Namespace) -> None:
    """Create a branch."""
    with session.open_engine() as engine:
        parent = args.parent or engine.log.branches.current[MAIN]
        receipt = engine.log.fork(parent=parent, at=args.at, name=args.name, actor=session.actor)
    forked = _fork_event(receipt)
    session.print_result(
        {
            **receipt_json(receipt),
            "forked": forked.branch,
            "parent": forked.parent,
            "at": forked.at,
        },
        lambda screen: screen.advice(
            ("Created branch ", GOOD),
            (forked.branch, NAME),
            f" from {forked.parent} after position {forked.at}."
            f" To switch to it: everloop log stand {shlex.quote(forked.branch)}",
        ),
    )


def stand(session: Session, args: Namespace) -> None:
    """Switch to a branch."""
    with session.open_engine() as engine:
        check_can_switch(session, engine, args.branch)
        receipt = engine.log.switch_branch(args.branch, actor=session.actor)
    done = "Already on branch " if not receipt.facts else "Switched to branch "
    session.print_result(
        {**receipt_json(receipt), "standing": args.branch},
        lambda screen: screen.paragraph((done, GOOD), (args.branch, NAME), "."),
    )


def rewind(session: Session, args: Namespace) -> int | None:
    """Go back to a position."""
    with session.open_engine() as engine:
        impact = engine.log.preview_rewind(args.position, tree=args.tree)
        lead = f"Rewinding {args.tree!r} to position {args.position}"
        preview = fact_tables.load_preview(
            session, engine, impact, visible_impact(session, engine, impact)
        )
        if args.preview:
            _answer_preview(session, preview, lead)
            return None
        check_can_rewind(session, engine, impact, args.position)
        before = engine.log.branches.current.get(args.tree)
        if not session.confirm(
            lambda screen: fact_tables.draw_preview(screen, preview, lead=lead), "Rewind?"
        ):
            return DECLINED
        receipt = engine.log.rewind(
            args.position, tree=args.tree, name=args.name, actor=session.actor
        )
    here = _fork_event(receipt).branch
    session.print_result(
        {
            **receipt_json(receipt),
            "impact": impact_json(impact, preview.seen),
            "standing": here,
            "before": before,
        },
        lambda screen: screen.advice(
            (f"Rewound to position {args.position}", GOOD),
            ", on the new branch ",
            (here, NAME),
            f". To undo: everloop log stand {shlex.quote(before or MAIN)}",
        ),
    )
    return None


def retract(session: Session, args: Namespace) -> int | None:
    """Retract facts and everything derived from them."""
    lead = f"Retracting {_describe(args.positions)}"
    with session.open_engine() as engine:
        impact = engine.log.preview_retract(args.positions)
        preview = fact_tables.load_preview(
            session, engine, impact, visible_impact(session, engine, impact)
        )
        if args.preview:
            _answer_preview(session, preview, lead)
            return None
        check_can_undo(session, engine, args.positions)
        if not session.confirm(
            lambda screen: fact_tables.draw_preview(screen, preview, lead=lead), "Retract?"
        ):
            return DECLINED
        receipt = engine.log.retract(args.positions, reason=args.reason, actor=session.actor)
    session.print_result(
        {**receipt_json(receipt), "impact": impact_json(impact, preview.seen)},
        lambda screen: _draw_retraction(screen, impact, receipt),
    )
    return None


def _draw_retraction(screen: Screen, impact: Impact, receipt: Receipt) -> None:
    restored = (
        f", {fact_tables.plural(len(impact.restores), 'fact')} restored" if impact.restores else ""
    )
    screen.advice(
        ("Retracted", GOOD),
        f" at position {receipt.position}: {fact_tables.plural(len(impact.hides), 'fact')}"
        f" hidden{restored}. To undo: everloop log retract {receipt.position}",
    )


def _answer_preview(session: Session, preview: fact_tables.ImpactPreview, lead: str) -> None:
    session.print_result(
        impact_json(preview.impact, preview.seen),
        lambda screen: fact_tables.draw_preview(screen, preview, lead=lead),
    )


def _fork_event(receipt: Receipt) -> BranchForked:
    """The fork that a receipt records."""
    found = next(fact.event for fact in receipt.facts if isinstance(fact.event, BranchForked))
    assert isinstance(found, BranchForked), "selected by the line above"
    return found


def _describe(positions: list[int]) -> str:
    if len(positions) == 1:
        return f"position {positions[0]}"
    return f"positions {', '.join(format_positions(positions).split())}"
