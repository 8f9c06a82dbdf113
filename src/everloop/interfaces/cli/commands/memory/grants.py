"""`everloop grants`: who may ask memory, and within which scopes."""

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
    """Show who may ask."""
    if session.actor != OWNER:
        raise Forbidden(
            f"{session.actor} may not see who may ask", hint="Only the user can, at a terminal."
        )
    with session.looking() as engine, engine.reading() as reader:
        granted = grants(reader)
    session.answer(granted, lambda screen: _draw(screen, session, granted))


def allow(session: Session, args: Namespace) -> None:
    """Let a principal ask, within scopes. This is all of its scopes, as they are now."""
    scopes = tuple(args.scopes)
    done = f"may ask within {', '.join(scopes)}"
    _change(session, args.principal, GrantAudience(args.principal, scopes), done)


def revoke(session: Session, args: Namespace) -> None:
    """Let a principal ask no more."""
    if args.principal == session.actor == OWNER:
        raise Invalid(
            f"{OWNER!r} is the owner, who may always ask",
            hint="`everloop grants list` shows whom you let in.",
        )
    _change(session, args.principal, RevokeAudience(args.principal), "may ask no more")


def _change(session: Session, principal: str, command: Command, done: str) -> None:
    with session.engine() as engine:
        receipt = engine.do(command, by=speaker(session))

    def draw(screen: Screen) -> None:
        if not receipt.facts:
            screen.say("It is so already: ", (principal, NAME), f" {done}.")
            return
        screen.say(("Recorded", GOOD), ": ", (principal, NAME), f" {done}.")
        memory_items.undo(screen, [receipt.position])

    session.answer(receipt_of(receipt), draw)


def _draw(screen: Screen, session: Session, granted: list[Grant]) -> None:
    if not granted:
        screen.say("Nobody but you may ask. `everloop grants allow` lets someone in.")
        return
    if not screen.wide:
        for grant in granted:
            since = local_with_age(grant.since, session.now)
            screen.line(styled((grant.principal, NAME), (f"  {since}", FAINT)))
            screen.say(f"  {', '.join(grant.scopes)}")
        return
    screen.table(
        ("principal", "since", "scopes"),
        [
            (
                styled((grant.principal, NAME)),
                local_with_age(grant.since, session.now),
                ", ".join(grant.scopes),
            )
            for grant in granted
        ],
    )
