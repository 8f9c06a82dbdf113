"""`everloop grants`: who can read memory, and which scopes."""

from argparse import Namespace

from everloop.errors import Forbidden, Invalid
from everloop.interfaces.cli.audience import speaker
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.json_shapes import receipt_of
from everloop.interfaces.cli.output.screen import FAINT, GOOD, NAME, Screen, styled
from everloop.interfaces.cli.output.times import local_with_age
from everloop.interfaces.cli.session import Session
from everloop.log import Command
from everloop.memory.browse.queries import Grant, grants
from everloop.memory.model.commands import GrantAudience, RevokeAudience
from everloop.memory.model.scopes import OWNER


def list_grants(session: Session, _: Namespace) -> None:
    """List who can read memory."""
    if session.actor != OWNER:
        raise Forbidden(
            f"{session.actor} cannot list who has access", hint="Only the user can, at a terminal."
        )
    with session.looking() as engine, engine.reading() as reader:
        granted = grants(reader)
    session.answer(granted, lambda screen: _draw(screen, session, granted))


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
    with session.engine() as engine:
        receipt = engine.do(command, by=speaker(session))

    def draw(screen: Screen) -> None:
        if not receipt.facts:
            screen.say("No change: ", (principal, NAME), f" already {done}.")
            return
        screen.say(("Done", GOOD), ": ", (principal, NAME), f" {done}.")
        memory_items.undo(screen, [receipt.position])

    session.answer(receipt_of(receipt), draw)


def _draw(screen: Screen, session: Session, granted: list[Grant]) -> None:
    if not granted:
        screen.say("Only you have access. Run `everloop grants allow` to grant access to others.")
        return
    if not screen.wide:
        for grant in granted:
            since = local_with_age(grant.since, session.now)
            screen.line(styled((grant.principal, NAME), (f"  {since}", FAINT)))
            screen.say(f"  {', '.join(grant.scopes)}")
        return
    screen.table(
        ("user or agent", "since", "scopes"),
        [
            (
                styled((grant.principal, NAME)),
                local_with_age(grant.since, session.now),
                ", ".join(grant.scopes),
            )
            for grant in granted
        ],
    )
