"""`everloop lessons capture`: propose lessons from files of people and agents."""

import threading
from argparse import Namespace
from pathlib import Path

from everloop.adapters import CaptureFolder
from everloop.app import Engine
from everloop.errors import Invalid
from everloop.host_admission import admit_host
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.screen import BOLD, DIM, GOOD, NAME, Screen, styled_text
from everloop.interfaces.cli.session import Session
from everloop.interfaces.cli.skipped_files import draw_skipped, exit_code_of_skipped
from everloop.lessons import CAPTURE_ACTOR, CaptureReport, CaptureService, ProposedEntry
from everloop.memory import OWNER


def capture(session: Session, args: Namespace) -> int | None:
    """Propose lessons from files, once or continuously with `--watch`."""
    if args.watch and (args.preview or len(args.paths) > 1):
        raise Invalid(
            "--watch takes one path and no --preview", hint="Give one path, without --preview."
        )
    with session.open_engine() as engine:
        folders = _folders(session, engine, args)
        if args.watch:
            session.error_screen.paragraph(f"Watching {args.paths[0]}. Press Ctrl-C to stop.")
            engine.lessons.record_rules()
            folders[0].watch(threading.Event(), lambda report: _report(session, report))
            return None
        report = sum((folder.read() for folder in folders), CaptureReport())
        if report.caught and not args.preview:
            engine.lessons.record_rules()
    _report(session, report, preview=args.preview)
    return exit_code_of_skipped(report.troubles)


def _folders(session: Session, engine: Engine, args: Namespace) -> list[CaptureFolder]:
    """The folders to read. If a person runs this, the author is capture; else the agent itself."""
    actor = CAPTURE_ACTOR if session.actor == OWNER else session.actor
    if actor == CAPTURE_ACTOR and not args.preview:
        admit_host(engine, CAPTURE_ACTOR, session.settings.doors)
    catcher = CaptureService(engine.log, engine, actor=actor, preview=args.preview)
    limits = session.settings.capture
    return [
        CaptureFolder(Path(path).expanduser(), catcher, limits, scope=args.scope)
        for path in args.paths
    ]


def _report(session: Session, report: CaptureReport, *, preview: bool = False) -> None:
    proposed = "would_propose" if preview else "proposed"
    new = CaptureReport(_new(report), report.troubles)
    value = {proposed: new.caught, "troubles": new.troubles}
    session.print_result(value, lambda screen: _draw(screen, new, preview=preview))
    session.stdout.flush()


def _new(report: CaptureReport) -> tuple[ProposedEntry, ...]:
    """The lessons that are new, without duplicates."""
    first: dict[str, ProposedEntry] = {}
    for each in report.caught:
        if not each.known:
            first.setdefault(each.lesson_id, each)
    return tuple(first.values())


def _draw(screen: Screen, report: CaptureReport, *, preview: bool) -> None:
    number = plural(len(report.caught), "lesson")
    if not report.caught:
        screen.paragraph(("No new lessons", BOLD), " found.")
    elif preview:
        screen.paragraph((f"{number} would be proposed", BOLD), ":")
    else:
        screen.paragraph((f"{number} proposed", GOOD), ", not trusted yet:")
    if report.caught:
        screen.table(
            ("lesson", "scope", "source", "rule"),
            [
                (styled_text((each.lesson_id, NAME)), each.scope, each.name, each.description)
                for each in report.caught
            ],
            cut=True,
        )
    for each in (each for each in report.caught if each.replaces):
        screen.paragraph((f"{each.lesson_id} replaces {each.replaces}, whose text changed.", DIM))
    draw_skipped(screen, report.troubles)
