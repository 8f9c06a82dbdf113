"""`everloop lessons capture`: propose lessons from files of people and agents."""

import threading
from argparse import Namespace
from pathlib import Path

from everloop.adapters.capture.folder import CaptureFolder
from everloop.app import Engine
from everloop.errors import Invalid
from everloop.host_admission import admit
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.screen import FAINT, GOOD, NAME, STRONG, Screen, styled
from everloop.interfaces.cli.session import Session
from everloop.interfaces.cli.skipped_files import code_of, draw_troubles
from everloop.lessons.capture.service import CAPTURE, Catcher, Caught, Report
from everloop.memory.model.scopes import OWNER


def capture(session: Session, args: Namespace) -> int | None:
    """Propose lessons from files, once or continuously with `--watch`."""
    if args.watch and (args.preview or len(args.paths) > 1):
        raise Invalid(
            "--watch takes one path and no --preview", hint="Give one path, without --preview."
        )
    with session.engine() as engine:
        folders = _folders(session, engine, args)
        if args.watch:
            session.aside.say(f"Watching {args.paths[0]}. Press Ctrl-C to stop.")
            folders[0].watch(threading.Event(), lambda report: _report(session, report))
            return None
        report = sum((folder.read() for folder in folders), Report())
    _report(session, report, preview=args.preview)
    return code_of(report.troubles)


def _folders(session: Session, engine: Engine, args: Namespace) -> list[CaptureFolder]:
    """The folders to read. If a person runs this, the author is capture; else the agent itself."""
    actor = CAPTURE if session.actor == OWNER else session.actor
    if actor == CAPTURE and not args.preview:
        admit(engine, CAPTURE, session.settings.doors)
    catcher = Catcher(engine.log, engine, actor=actor, preview=args.preview)
    limits = session.settings.capture
    return [
        CaptureFolder(Path(path).expanduser(), catcher, limits, scope=args.scope)
        for path in args.paths
    ]


def _report(session: Session, report: Report, *, preview: bool = False) -> None:
    proposed = "would_propose" if preview else "proposed"
    new = Report(_new(report), report.troubles)
    value = {proposed: new.caught, "troubles": new.troubles}
    session.answer(value, lambda screen: _draw(screen, new, preview=preview))
    session.stdout.flush()


def _new(report: Report) -> tuple[Caught, ...]:
    """The lessons that are new, without duplicates."""
    first: dict[str, Caught] = {}
    for each in report.caught:
        if not each.known:
            first.setdefault(each.lesson_id, each)
    return tuple(first.values())


def _draw(screen: Screen, report: Report, *, preview: bool) -> None:
    number = plural(len(report.caught), "lesson")
    if not report.caught:
        screen.say(("No new lessons", STRONG), " found.")
    elif preview:
        screen.say((f"{number} would be proposed", STRONG), ":")
    else:
        screen.say((f"{number} proposed", GOOD), ", not trusted yet:")
    if report.caught:
        screen.table(
            ("lesson", "scope", "source", "rule"),
            [
                (styled((each.lesson_id, NAME)), each.scope, each.name, each.description)
                for each in report.caught
            ],
            cut=True,
        )
    for each in (each for each in report.caught if each.replaces):
        screen.say((f"{each.lesson_id} replaces {each.replaces}, whose text changed.", FAINT))
    draw_troubles(screen, report.troubles)
