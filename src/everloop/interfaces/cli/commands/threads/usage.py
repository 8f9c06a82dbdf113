"""`everloop usage`: calls of models by period, with their tokens, cost and time."""

from argparse import Namespace
from collections.abc import Sequence

from everloop.interfaces.cli.audience import check_can_read_everything
from everloop.interfaces.cli.output.screen import DIM, NAME, Screen, styled_text
from everloop.interfaces.cli.session import Session
from everloop.thread import PeriodUsage, usage_by_period


def usage(session: Session, args: Namespace) -> None:
    """Show what calls of models cost."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        with engine.reading() as reader:
            found = usage_by_period(reader, args.by, args.limit)
    session.print_result({"usage": found}, lambda screen: _draw(screen, found))


def _draw(screen: Screen, found: Sequence[PeriodUsage]) -> None:
    if not found:
        screen.paragraph("No model was called yet.")
        return
    screen.table(
        ("since", "model", "purpose", "calls", "tokens in", "cached", "out", "cost"),
        [
            (
                styled_text((one.since, DIM)),
                styled_text((one.model, NAME)),
                styled_text(one.purpose),
                styled_text(f"{one.calls:,}"),
                styled_text(f"{one.tokens_in:,}"),
                styled_text(_share(one)),
                styled_text(f"{one.tokens_out:,}"),
                styled_text(_cost(one)),
            )
            for one in found
        ],
        cut=True,
    )


def _share(one: PeriodUsage) -> str:
    """How much of the input the services had in their caches."""
    return f"{one.tokens_cached / one.tokens_in:.0%}" if one.tokens_cached else "-"


def _cost(one: PeriodUsage) -> str:
    more = " + unknown" if one.unpriced else ""
    return f"${one.cost_usd:.2f}{more}"
