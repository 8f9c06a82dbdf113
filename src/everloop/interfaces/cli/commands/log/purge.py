"""`everloop log purge` and `scrub`: permanently erase data."""

from argparse import Namespace

from everloop.app import Engine
from everloop.interfaces.cli import fact_tables
from everloop.interfaces.cli.audience import visible_impact
from everloop.interfaces.cli.output.exit_codes import DECLINED
from everloop.interfaces.cli.output.json_shapes import impact_json, receipt_json
from everloop.interfaces.cli.output.screen import BOLD, DIM, GOOD, WARNING, Screen
from everloop.interfaces.cli.permissions import check_can_undo
from everloop.interfaces.cli.session import Session
from everloop.log import Impact, list_backups

ERASED_MAX = 500  # facts shown before they are erased, since that cannot be undone
AUTOMATIC_BACKUP = ", and the automatic backup before this purge,"


def purge(session: Session, args: Namespace) -> int | None:
    """Permanently erase payloads, after a preview."""
    with session.open_engine() as engine:
        return purge_positions(session, engine, args)


def purge_positions(session: Session, engine: Engine, args: Namespace) -> int | None:
    """Erase the payloads at `args.positions`; shared by all commands that erase."""
    impact = engine.log.preview_purge(args.positions)
    seen = visible_impact(session, engine, impact)
    preview = fact_tables.load_preview(session, engine, impact, seen, most=ERASED_MAX)
    shape = impact_json(impact, preview.seen)
    kept = engine.log.backups is not None
    if args.preview:
        session.print_result(shape, lambda screen: _preview(screen, preview, kept))
        return None
    check_can_undo(session, engine, args.positions)
    if impact.hides and not session.confirm(
        lambda screen: _preview(screen, preview, kept), "Erase them permanently?"
    ):
        return DECLINED
    receipt = engine.purge(args.positions, reason=args.reason, actor=session.actor)
    holding = _backups_with(engine, impact) if receipt.facts else []
    session.print_result(
        {**receipt_json(receipt), "impact": shape, "backups_holding_it": holding},
        lambda screen: _draw_result(screen, impact, holding, done=bool(receipt.facts)),
    )
    return None


def scrub(session: Session, _: Namespace) -> None:
    """Rewrite the log file so that no erased data remains in it."""
    with session.open_engine() as engine:
        before = engine.log.file.path.stat().st_size
        engine.log.scrub()
        after = engine.log.file.path.stat().st_size
    session.print_result(
        {"bytes_before": before, "bytes_after": after},
        lambda screen: screen.paragraph(
            ("Scrubbed", GOOD), f": {before:,} bytes before, {after:,} bytes after."
        ),
    )


def _backups_with(engine: Engine, impact: Impact) -> list[str]:
    """The backups that still contain the erased data."""
    if engine.log.backups is None:
        return []
    first = min(touched.position for touched in impact.hides)
    return [
        copy.path.name for copy in list_backups(engine.log.backups.folder) if copy.head >= first
    ]


def _preview(screen: Screen, preview: fact_tables.ImpactPreview, kept: bool) -> None:
    impact = preview.impact
    if not impact.hides:
        screen.paragraph("Nothing to erase: the payloads were already erased.")
        return
    screen.paragraph(
        (f"Permanently erasing {fact_tables.plural(len(impact.hides), 'fact')}", BOLD),
        f"{fact_tables.format_kinds(preview.seen)}.",
    )
    fact_tables.draw_first_facts(screen, preview.hides, len(impact.hides), preview.now)
    screen.paragraph(
        ("This cannot be undone.", WARNING),
        " Tombstones stay, so that the log can still be verified. Existing backups and"
        f" exports{AUTOMATIC_BACKUP if kept else ''} still contain the text.",
    )


def _draw_result(screen: Screen, impact: Impact, holding: list[str], *, done: bool) -> None:
    if not done:
        screen.paragraph("Nothing to erase: the payloads were already erased.")
        return
    screen.paragraph(("Erased", GOOD), f" {fact_tables.plural(len(impact.hides), 'fact')}.")
    if holding:
        screen.advice(
            (
                f"The text is still in {fact_tables.plural(len(holding), 'earlier backup')}.",
                WARNING,
            ),
            " Delete those you no longer need; `everloop backup --list` shows where they are.",
        )
        for name in holding:
            screen.paragraph((f"  {name}", DIM))
