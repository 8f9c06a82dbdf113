"""`everloop verify` and `rebuild`: verify the hash chain of the log, and rebuild its views."""

from argparse import Namespace

from everloop.errors import Corrupt
from everloop.interfaces.cli import fact_tables
from everloop.interfaces.cli.output.exit_codes import EXIT_CODES
from everloop.interfaces.cli.output.screen import BAD, GOOD, Screen
from everloop.interfaces.cli.session import Session
from everloop.log import Verification, rebuild_projections, verify_log


def verify(session: Session, _: Namespace) -> int | None:
    """Verify every digest and report damage."""
    with session.open_for_reading() as engine, session.progress("verifying") as progress:
        found = verify_log(engine.log, progress)
    session.print_result(
        {
            "ok": found.ok,
            "records": found.records,
            "streams": found.streams,
            "damage": found.damage,
        },
        lambda screen: _draw_result(screen, found),
    )
    return None if found.ok else EXIT_CODES[Corrupt]


def rebuild_views(session: Session, args: Namespace) -> None:
    """Rebuild views from the log."""
    with session.open_engine() as engine, session.progress("rebuilding") as progress:
        names = rebuild_projections(engine.log, args.views, progress)
        head = engine.log.head
    session.print_result(
        {"views": names, "head": head},
        lambda screen: screen.paragraph(
            ("Rebuilt", GOOD),
            f" {', '.join(names)} from {fact_tables.plural(head, 'record')}.",
        ),
    )


def _draw_result(screen: Screen, found: Verification) -> None:
    records = fact_tables.plural(found.records, "record")
    what = f"{records} in {fact_tables.plural(found.streams, 'stream')}"
    if found.ok:
        screen.paragraph(("The log is intact", GOOD), f": {what}, all digests match.")
        return
    headline = "An index is damaged" if found.only_indexes else "The log is damaged"
    screen.paragraph((headline, BAD), f". Checked {what} and found:")
    screen.table(
        ("#from", "#to", "problem"),
        [(str(damage.first), str(damage.last), damage.problem) for damage in found.damage],
    )
    if found.only_indexes:
        screen.advice("Next: run `everloop rebuild` to rebuild it from the log, which is intact.")
        return
    screen.advice(
        "Next: run `everloop restore` to restore a backup, or `everloop log export` to save what"
        " can still be read."
    )
