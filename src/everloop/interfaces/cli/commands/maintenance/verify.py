"""`everloop verify` and `rebuild`: is the log what was written, and are the views its folds."""

from argparse import Namespace

from everloop.errors import Corrupt
from everloop.interfaces.cli import fact_tables
from everloop.interfaces.cli.output.exit_codes import EXIT_CODES
from everloop.interfaces.cli.output.screen import BAD, GOOD, Screen
from everloop.interfaces.cli.session import Session
from everloop.log.integrity.rebuild import rebuild
from everloop.log.integrity.verify import Verification, verify


def verify_log(session: Session, _: Namespace) -> int | None:
    """Recompute every digest and name what is damaged."""
    with session.looking() as engine, session.progress("verifying") as progress:
        found = verify(engine.log, progress)
    session.answer(
        {
            "ok": found.ok,
            "records": found.records,
            "streams": found.streams,
            "damage": found.damage,
        },
        lambda screen: _verified(screen, found),
    )
    return None if found.ok else EXIT_CODES[Corrupt]


def rebuild_views(session: Session, args: Namespace) -> None:
    """Drop views and fold them again."""
    with session.engine() as engine, session.progress("rebuilding") as progress:
        names = rebuild(engine.log, args.views, progress)
        head = engine.log.head
    session.answer(
        {"views": names, "head": head},
        lambda screen: screen.say(
            ("Rebuilt", GOOD),
            f" {', '.join(names)} from {fact_tables.plural(head, 'record')}.",
        ),
    )


def _verified(screen: Screen, found: Verification) -> None:
    records = fact_tables.plural(found.records, "record")
    what = f"{records} in {fact_tables.plural(found.streams, 'stream')}"
    if found.ok:
        screen.say(("The log is whole", GOOD), f": {what}, every digest recomputed.")
        return
    hurt = "An index is damaged" if found.only_indexes else "The log is damaged"
    screen.say((hurt, BAD), f": {what} were read, and this is wrong:")
    screen.table(
        ("#from", "#to", "problem"),
        [(str(damage.first), str(damage.last), damage.problem) for damage in found.damage],
    )
    if found.only_indexes:
        screen.say("Next: `everloop rebuild` makes it again from the log, which is whole.")
        return
    screen.say(
        "Next: `everloop restore` puts a backup in place; `everloop log export` saves what can"
        " still be read."
    )
