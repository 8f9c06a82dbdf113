"""`everloop upgrade`: what this version would change in a data home, and the change itself."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from everloop.app import PROJECTIONS
from everloop.errors import Conflict, Invalid, NotFound
from everloop.interfaces.cli import fact_tables
from everloop.interfaces.cli.output.exit_codes import DECLINED, DONE
from everloop.interfaces.cli.output.screen import BAD, DIM, GOOD, NAME, WARNING, Screen
from everloop.interfaces.cli.permissions import require_user
from everloop.interfaces.cli.session import Session
from everloop.log import BACKUP_FOLDER, UpgradePlan, back_up_before_upgrade, plan_upgrade
from everloop.stores import log_path, replica_path


def upgrade(session: Session, args: Namespace) -> int:
    """Show what would change; without `--check`, make a backup and change it.

    Raises:
        NotFound: there is no log yet.
        Conflict: this version cannot open it.
    """
    problem = _settings_problem(session)
    path = _path(session, problem)
    plan = plan_upgrade(path, PROJECTIONS)
    if args.check or not (problem or plan.newer or plan.changes):
        shape = _shape(plan, problem, "")
        session.print_result(shape, lambda screen: _draw(screen, plan, problem))
        return DONE
    require_user(session, "upgrade the data home")
    if problem or plan.newer:
        raise Conflict(
            problem or "a newer version of Everloop wrote this log",
            hint="Fix the settings first." if problem else "Upgrade the program first.",
        )
    if not session.confirm(lambda screen: _draw(screen, plan, problem), "Back up and upgrade?"):
        return DECLINED
    copy = str(back_up_before_upgrade(path, path.parent / BACKUP_FOLDER, session.now))
    session.open_engine().close()  # opening migrates the table and folds the views
    session.print_result(_shape(plan, problem, copy), lambda screen: _draw_done(screen, copy))
    return DONE


def _settings_problem(session: Session) -> str:
    """What this version does not understand in the settings; empty if it understands all."""
    try:
        _ = session.settings
    except Invalid as problem:
        return str(problem)
    return ""


def _path(session: Session, problem: str) -> Path:
    folder = session.data_home
    store = "" if problem else session.settings.store
    found = (
        replica_path(store, folder, session.tenant) if store else log_path(folder, session.tenant)
    )
    if not found.exists():
        raise NotFound(f"there is no log in {folder} yet", hint="There is nothing to upgrade.")
    return found


def _shape(plan: UpgradePlan, problem: str, backup: str) -> dict[str, Any]:
    return {
        "records": plan.records,
        "format": plan.format,
        "current_format": plan.current_format,
        "newer": plan.newer,
        "views": plan.views,
        "old_shapes": plan.old_shapes,
        "unknown": plan.unknown,
        "settings_problem": problem,
        "backup": backup,
    }


def _draw(screen: Screen, plan: UpgradePlan, problem: str) -> None:
    records = fact_tables.plural(plan.records, "record")
    if plan.newer:
        screen.paragraph(
            ("A newer version wrote this log. ", BAD),
            f"Its format is {plan.format}, this version knows {plan.current_format}.",
        )
    elif plan.format != plan.current_format:
        screen.paragraph(
            f"The log's table ({records}) changes from format {plan.format} to"
            f" {plan.current_format}; no record is rewritten."
        )
    else:
        screen.paragraph(f"The log's table ({records}) stays as it is.")
    for view in plan.views:
        before = f"version {view.version}" if view.version else "not there yet"
        screen.paragraph(
            "View ", (view.name, NAME), f": {before}; folded again as version {view.current}."
        )
    for shape in plan.old_shapes:
        words = f"{shape.kind}: {fact_tables.plural(shape.records, 'record')} of schema"
        screen.paragraph(
            (f"{words} {shape.schema} are read as {shape.current}, and stay as they are.", DIM)
        )
    for kind in plan.unknown:
        words = f"{kind.kind} of schema {kind.schema} is unknown to this version"
        screen.paragraph((words, WARNING), f"; {kind.records:,} kept and skipped.")
    if problem:
        screen.paragraph(("Settings: ", WARNING), problem)
    if not (plan.changes or plan.newer or problem):
        screen.paragraph(("Nothing to upgrade.", GOOD))


def _draw_done(screen: Screen, copy: str) -> None:
    screen.paragraph(("Upgraded. ", GOOD), f"The log as it was: {copy}")
    screen.advice(f"To go back: everloop restore {copy}")
