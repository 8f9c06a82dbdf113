"""`everloop service`: keep the server running, as a service of the operating system."""

import os
import shutil
import sys
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from everloop.adapters import (
    ConfigChange,
    ServiceManager,
    plan_definition,
    platform_name,
    service_manager,
    show_output,
)
from everloop.errors import NotFound, Unavailable
from everloop.interfaces.cli.output.exit_codes import DECLINED, DONE
from everloop.interfaces.cli.output.screen import BOLD, GOOD, NAME, Screen
from everloop.interfaces.cli.permissions import require_user
from everloop.interfaces.cli.session import Session
from everloop.settings import Settings

PROGRAM = "everloop"


def install(session: Session, _: Namespace) -> int:
    """Show the definition, write it if the user agrees, and start the service."""
    require_user(session, "install the service")
    _check_server_installed()
    manager = _manager(session)
    text = manager.definition(_command(session), session.search_path)
    change = plan_definition(manager, text)
    asked = "Write this and start the service?"
    if not session.confirm(lambda screen: _draw_definition(screen, change), asked):
        return DECLINED
    if change.before != change.after:
        change.write()
    remarks = manager.start()
    answer: dict[str, Any] = {"installed": True, "path": str(manager.path), "remarks": remarks}
    session.print_result(answer, lambda screen: _draw_installed(screen, manager, remarks))
    return DONE


def status(session: Session, _: Namespace) -> None:
    """Whether the service is installed and runs."""
    manager = _manager(session)
    state = manager.state()
    shape = {"installed": state.installed, "running": state.running, "words": state.words}

    def draw(screen: Screen) -> None:
        if not state.installed:
            screen.advice("Not installed. To install it: everloop service install")
            return
        screen.paragraph(("Running. ", GOOD) if state.running else ("Not running. ", BOLD))
        screen.paragraph(f"{manager.path}: {state.words}")

    session.print_result(shape, draw)


def logs(session: Session, args: Namespace) -> int:
    """Show what the service printed."""
    require_user(session, "read the service's output")
    manager = _manager(session)
    _require_installed(manager)
    return show_output(manager.logs(args.lines, follow=args.follow))


def remove(session: Session, _: Namespace) -> int:
    """Stop the service and delete its definition. The data home stays."""
    require_user(session, "remove the service")
    manager = _manager(session)
    _require_installed(manager)
    change = plan_definition(manager, None)
    where = f"{manager.path} will be deleted; your data stays."
    if not session.confirm(lambda screen: screen.paragraph(where), "Stop and remove it?"):
        return DECLINED
    manager.stop()
    change.write()
    answer = {"installed": False, "path": str(manager.path)}
    session.print_result(
        answer, lambda screen: screen.paragraph(("Removed ", GOOD), str(manager.path))
    )
    return DONE


def _manager(session: Session) -> ServiceManager:
    folder = session.settings.folder
    return service_manager(Path.home(), folder, system=platform_name(), user_id=os.getuid())


def _require_installed(manager: ServiceManager) -> None:
    if not manager.path.exists():
        raise NotFound("the service is not installed", hint="Install it: everloop service install")


def _check_server_installed() -> None:
    if find_spec("uvicorn") is None:
        raise Unavailable(
            "the web server is not installed", hint="Install it: pip install 'everloop[app]'"
        )


def _command(session: Session) -> list[str]:
    """What the service runs: this installation, this data home and tenant."""
    found = shutil.which(PROGRAM)
    program = [found] if found else [sys.executable, "-m", PROGRAM]
    folder = str(session.settings.folder.resolve())
    elsewhere = [] if session.settings.home == Settings().home else ["--home", folder]
    tenant = [] if session.tenant == "local" else ["--tenant", session.tenant]
    return [*program, *elsewhere, *tenant, "serve"]


def _draw_definition(screen: Screen, change: ConfigChange) -> None:
    screen.paragraph((str(change.path), NAME))
    screen.paragraph(change.after or "")
    if change.before == change.after:
        screen.paragraph("It is already there, as it is.")


def _draw_installed(screen: Screen, manager: ServiceManager, remarks: list[str]) -> None:
    screen.paragraph(("Installed ", GOOD), str(manager.path))
    screen.notes(remarks)
    screen.advice("To sign in a browser: everloop pair")
    screen.advice("To look after it: everloop service status, everloop service logs")
