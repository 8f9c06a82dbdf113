"""`everloop install`: add Everloop to the settings of a host, or remove it, after a preview."""

import shlex
import shutil
import sys
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from everloop.adapters import (
    CLAUDE_CODE_HOST,
    ConfigChange,
    ConfigFiles,
    config_files,
    plan_install,
    plan_uninstall,
)
from everloop.errors import Unavailable
from everloop.host_admission import admit_host, host_actor, no_access_hint
from everloop.interfaces.cli.audience import command_context
from everloop.interfaces.cli.commands.server.hosts import WHAT_TRUST_MEANS
from everloop.interfaces.cli.output.exit_codes import DECLINED, DONE
from everloop.interfaces.cli.output.screen import BAD, BOLD, DIM, GOOD, NAME, Screen
from everloop.interfaces.cli.session import USER, Session
from everloop.settings import Settings

PROGRAM = "everloop"


def install(session: Session, args: Namespace) -> int:
    """Add Everloop to Claude Code's settings, or remove it; asks first, and asks about trust."""
    where = _files(args)
    if args.uninstall:
        changes = plan_uninstall(where)
    else:
        _check_mcp_installed()
        changes = plan_install(where, _command(session, args))
    if changes and not session.confirm(lambda s: _draw_diffs(s, changes), "Apply these changes?"):
        return DECLINED
    for change in changes:
        change.write()
    trusted = _is_trusted(session) if args.uninstall else _ask_trust(session, new=bool(changes))
    hint = "" if args.uninstall else _let_in(session)
    answer: dict[str, Any] = {
        "host": CLAUDE_CODE_HOST,
        "installed": not args.uninstall,
        "changed": [str(change.path) for change in changes],
        "trusted": trusted,
    }

    def draw(screen: Screen) -> None:
        _draw(screen, changes, args, trusted)
        if hint:
            screen.advice(hint)

    session.print_result(answer, draw)
    return DONE


def _check_mcp_installed() -> None:
    """Check that the MCP server, which the host will start, is installed."""
    if find_spec("mcp") is None:
        raise Unavailable(
            "the MCP server is not installed", hint="Install it: pip install 'everloop[mcp]'"
        )


def _files(args: Namespace) -> ConfigFiles:
    return config_files(args.scope, home=Path.home(), project=Path.cwd())


def _command(session: Session, args: Namespace) -> list[str]:
    """The command that the host runs. Project settings are shared, so it has no local path."""
    if args.scope == "project":
        return [PROGRAM]
    found = shutil.which(PROGRAM)
    program = [found] if found else [sys.executable, "-m", PROGRAM]
    home = session.settings.home
    elsewhere = [] if home == Settings().home else ["--home", str(session.settings.folder)]
    tenant = [] if session.tenant == "local" else ["--tenant", session.tenant]
    return [*program, *elsewhere, *tenant]


def _ask_trust(session: Session, *, new: bool) -> bool:
    """Whether the user trusts the host to report their feedback.

    Asks only the user, and only when the settings changed: installing again asks nothing.
    """
    with session.open_engine() as engine:
        known = {host.host: host.trusted for host in engine.lessons.hosts()}
        if (
            known.get(CLAUDE_CODE_HOST)
            or session.actor != USER
            or not (new and session.interactive)
        ):
            return known.get(CLAUDE_CODE_HOST, False)
        if CLAUDE_CODE_HOST in known or not session.confirm(
            _draw_trust, f"Trust {CLAUDE_CODE_HOST}?", no="Not trusted."
        ):
            return False
        engine.lessons.trust(CLAUDE_CODE_HOST, by=command_context(session))
    return True


def _let_in(session: Session) -> str:
    """Give the host access, if it is the user who installs it; what to do if it has none then."""
    actor = host_actor(CLAUDE_CODE_HOST)
    with session.open_engine() as engine:
        if session.actor == USER:
            admit_host(engine, actor, session.settings.doors)
        return no_access_hint(engine, actor)


def _is_trusted(session: Session) -> bool:
    """Whether the user trusts the host, without creating a data home."""
    if not session.settings.folder.exists():
        return False
    with session.open_engine() as engine:
        return any(
            host.host == CLAUDE_CODE_HOST and host.trusted for host in engine.lessons.hosts()
        )


def _draw_trust(screen: Screen) -> None:
    screen.paragraph("Do you trust ", (CLAUDE_CODE_HOST, NAME), " to report your feedback?")
    screen.paragraph(WHAT_TRUST_MEANS)
    screen.paragraph(
        "If you do not trust it, its reports are recorded, and only a thumbs-down has an effect."
    )


def _draw_diffs(screen: Screen, changes: list[ConfigChange]) -> None:
    styles = {"+": GOOD, "-": BAD, "@": DIM}
    for change in changes:
        for line in change.diff:
            screen.paragraph((line, styles.get(line[:1], "")))
        if change.after is None:
            screen.paragraph((f"{change.path} will be deleted: it contains nothing else.", BOLD))
        screen.blank_line()


def _draw(screen: Screen, changes: list[ConfigChange], args: Namespace, trusted: bool) -> None:
    done = "Removed from " if args.uninstall else "Installed into "
    if not changes:
        screen.paragraph("No changes needed.")
    for change in changes:
        screen.paragraph((done, GOOD), str(change.path))
    if args.uninstall:
        if trusted:
            screen.advice(
                "The host is still trusted. To change that:"
                f" everloop hosts distrust {CLAUDE_CODE_HOST}"
            )
        return
    again = shlex.join(
        ["everloop", "install", CLAUDE_CODE_HOST, "--scope", args.scope, "--uninstall"]
    )
    screen.paragraph("To undo: ", (again, NAME))
    if not trusted:
        screen.advice(
            "To count the feedback that it reports as yours:"
            f" everloop hosts trust {CLAUDE_CODE_HOST}"
        )
