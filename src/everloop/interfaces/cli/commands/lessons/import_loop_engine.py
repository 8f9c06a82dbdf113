"""`everloop import loop-engine`: bring in the home of loop-engine, with a report."""

from argparse import Namespace
from pathlib import Path

from everloop.adapters import read_loop_engine_home
from everloop.host_admission import admit_host, host_actor
from everloop.interfaces.cli.audience import command_context
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.exit_codes import DECLINED
from everloop.interfaces.cli.output.screen import DIM, NAME, Screen, styled_text
from everloop.interfaces.cli.session import USER, Session
from everloop.interfaces.cli.skipped_files import draw_skipped, exit_code_of_skipped
from everloop.lessons import LOOP_ENGINE_HOST, HomeImport, HomeReport, LoopEngineHome
from everloop.log import Context


def import_loop_engine(session: Session, args: Namespace) -> int | None:
    """Import a home of loop-engine, after a preview."""
    home = read_loop_engine_home(Path(args.path).expanduser())
    if args.preview:
        session.print_result(home, lambda screen: _preview(screen, home))
        return None
    if not session.confirm(lambda screen: _preview(screen, home), "Import this home?"):
        return DECLINED
    with session.open_engine() as engine:
        actor = host_actor(LOOP_ENGINE_HOST)
        admit_host(engine, actor, session.settings.doors, by_command=session.actor != USER)
        by = Context(actor=actor, tenant=session.tenant, session="import")
        user = command_context(session) if args.activate else None
        report = HomeImport(engine, (engine.lessons, engine.crew), by).run(home, user=user)
    session.print_result(report, lambda screen: _draw(screen, report))
    return exit_code_of_skipped(report.problems)


def _preview(screen: Screen, home: LoopEngineHome) -> None:
    counts = {
        "memories": len(home.memories),
        "lessons": len(home.lessons),
        "skills, personas and teams": len(home.crew.offers),
    }
    screen.table(("", "found"), [(name, str(number)) for name, number in counts.items()])
    _draw_behind(screen, home.behind)
    draw_skipped(screen, home.problems, each="page")


def _draw(screen: Screen, report: HomeReport) -> None:
    screen.table(
        ("", "found", "new here", "activated"),
        [
            (styled_text((name, NAME)), str(kind.found), str(kind.new), str(kind.activated))
            for name, kind in report.kinds.items()
        ],
    )
    _draw_behind(screen, report.behind)
    draw_skipped(screen, report.problems, each="page")


def _draw_behind(screen: Screen, behind: dict[str, int]) -> None:
    if behind:
        left = ", ".join(plural(number, name.removesuffix("s")) for name, number in behind.items())
        screen.paragraph((f"Not imported: {left}. Counters are no facts here.", DIM))
