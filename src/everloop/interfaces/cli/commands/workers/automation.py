"""`everloop schedules`, and the rules by which tasks start without asking."""

from argparse import Namespace
from pathlib import Path

from everloop.app import Engine
from everloop.interfaces.cli.audience import check_can_read_everything, command_context
from everloop.interfaces.cli.output.screen import DIM, GOOD, NAME, Screen, styled_text
from everloop.interfaces.cli.session import Session
from everloop.workers import ScheduleView, StartRule, TaskSpec, Timing


def set_schedule(session: Session, engine: Engine, args: Namespace, spec: TaskSpec) -> None:
    """Set a schedule for a task, instead of starting it."""
    timing = Timing("cron" if args.every else "once", args.every or args.at, args.zone, args.missed)
    view = engine.automation.set_schedule(timing, spec, command_context(session), watch=args.watch)

    def draw(screen: Screen) -> None:
        screen.paragraph(
            ("Scheduled", GOOD), ": ", (view.schedule.schedule_id, NAME), f" {spec.title}"
        )
        screen.paragraph((f"Next: {_next(view)}", DIM))

    session.print_result(_document(view), draw)


def list_schedules(session: Session, args: Namespace) -> None:
    """List schedules and watches."""
    del args
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        found = engine.automation.list_schedules()

    def draw(screen: Screen) -> None:
        if not found:
            screen.advice('No schedules yet. Set one: everloop work "…" --every "0 9 * * mon"')
            return
        for one in found:  # no table: on a narrow terminal it would cut the ids
            planned = one.schedule
            watch = " (watch)" if planned.watch else ""
            screen.paragraph((planned.spec.title, NAME), watch)
            screen.line(styled_text(f"  {planned.timing.text} {planned.timing.zone}"))
            screen.line(styled_text((f"  next: {_next(one)}", DIM)))
            screen.line(styled_text((f"  {planned.schedule_id}", DIM)))

    session.print_result({"schedules": [_document(one) for one in found]}, draw)


def remove_schedule(session: Session, args: Namespace) -> None:
    """End a schedule."""
    with session.open_engine() as engine:
        engine.automation.remove_schedule(args.schedule, command_context(session))
    session.print_result(
        {"removed": args.schedule},
        lambda screen: screen.paragraph(("Removed", GOOD), ": ", (args.schedule, NAME)),
    )


def list_rules(session: Session, args: Namespace) -> None:
    """List the rules by which tasks start without asking."""
    del args
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        found = engine.automation.list_start_rules()

    def draw(screen: Screen) -> None:
        if not found:
            screen.paragraph("No rules: every task that an agent proposes waits for you.")
            return
        for name, one in found.items():
            screen.paragraph((one.proposer, NAME), f"  {one.runner}, {one.per_day} a day")
            screen.line(styled_text(f"  {one.path}"))
            screen.line(styled_text((f"  {name}", DIM)))

    rules = [{"rule_id": name, "rule": one} for name, one in found.items()]
    session.print_result({"rules": rules}, draw)


def allow(session: Session, args: Namespace) -> None:
    """Let an agent's tasks start without asking."""
    folder = str(Path(args.folder).expanduser().resolve()) if args.folder else ""
    rule = StartRule(args.proposer, args.runner, folder, args.per_day)
    with session.open_engine() as engine:
        name = engine.automation.set_start_rule(rule, command_context(session))
    session.print_result(
        {"rule_id": name, "rule": rule},
        lambda screen: screen.paragraph(("Allowed", GOOD), ": ", (name, NAME), f" {args.proposer}"),
    )


def disallow(session: Session, args: Namespace) -> None:
    """Remove such a rule."""
    with session.open_engine() as engine:
        engine.automation.remove_start_rule(args.rule, command_context(session))
    session.print_result(
        {"removed": args.rule},
        lambda screen: screen.paragraph(("Removed", GOOD), ": ", (args.rule, NAME)),
    )


def _next(view: ScheduleView) -> str:
    return f"{view.next_at:%Y-%m-%d %H:%M} UTC" if view.next_at else "over"


def _document(view: ScheduleView) -> dict[str, object]:
    schedule = view.schedule
    return {
        "schedule_id": schedule.schedule_id,
        "title": schedule.spec.title,
        "timing": schedule.timing,
        "watch": schedule.watch,
        "runs": schedule.runs,
        "last_task": schedule.last_task,
        "next_at": view.next_at,
    }
