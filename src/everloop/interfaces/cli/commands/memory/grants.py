"""`everloop grants`: who can read memory, and which scopes."""

from argparse import Namespace

from everloop.errors import Forbidden, Invalid
from everloop.interfaces.cli.audience import command_context
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.json_shapes import receipt_json
from everloop.interfaces.cli.output.screen import DIM, GOOD, NAME, Screen, styled_text
from everloop.interfaces.cli.output.times import format_with_age
from everloop.interfaces.cli.session import Session
from everloop.log import Command
from everloop.memory import OWNER, Grant, GrantAudience, RevokeAudience, current_grants


def list_grants(session: Session, _: Namespace) -> None:
    """List who can read memory."""
    if session.actor != OWNER:
        raise Forbidden(
            f"{session.actor} cannot list who has access", hint="Only the user can, at a terminal."
        )
    with session.open_for_reading() as engine, engine.reading() as reader:
        granted = current_grants(reader)
    session.print_result(granted, lambda screen: _draw(screen, session, granted))


def allow(session: Session, args: Namespace) -> None:
    """Allow a user or agent to read scopes, replacing those granted before."""
    scopes = tuple(args.scopes)
    done = f"can read {', '.join(scopes)}"
    _change(session, args.principal, GrantAudience(args.principal, scopes), done)


def revoke(session: Session, args: Namespace) -> None:
    """Revoke the access of a user or agent."""
    if args.principal == session.actor == OWNER:
        raise Invalid(
            f"{OWNER!r} is the owner, who always has access",
            hint="Run `everloop grants list` to see who else has access.",
        )
    _change(session, args.principal, RevokeAudience(args.principal), "has no access")


def _change(session: Session, principal: str, command: Command, done: str) -> None:
    with session.open_engine() as engine:
        receipt = engine.do(command, by=command_context(session))

    def draw(screen: Screen) -> None:
        if not receipt.facts:
            screen.paragraph("No change: ", (principal, NAME), f" already {done}.")
            return
        screen.paragraph(("Done", GOOD), ": ", (principal, NAME), f" {done}.")
        memory_items.draw_undo(screen, [receipt.position])

    session.print_result(receipt_json(receipt), draw)


def _draw(screen: Screen, session: Session, granted: list[Grant]) -> None:
    if not granted:
        screen.advice(
            "Only you have access. Run `everloop grants allow` to grant access to others."
        )
        return
    if not screen.wide:
        for grant in granted:
            since = format_with_age(grant.since, session.now)
            screen.line(styled_text((grant.principal, NAME), (f"  {since}", DIM)))
            screen.paragraph(f"  {', '.join(grant.scopes)}")
        return
    screen.table(
        ("user or agent", "since", "scopes"),
        [
            (
                styled_text((grant.principal, NAME)),
                format_with_age(grant.since, session.now),
                ", ".join(grant.scopes),
            )
            for grant in granted
        ],
    )
