"""`everloop install`: into a host, after showing what would be written; and out again."""

import shlex
import shutil
import sys
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from everloop.adapters import claude_code_config
from everloop.adapters.claude_code_config import HOST, Change, Files
from everloop.errors import Unavailable
from everloop.interfaces.cli.audience import speaker
from everloop.interfaces.cli.output.exit_codes import DECLINED, DONE
from everloop.interfaces.cli.output.screen import BAD, FAINT, GOOD, NAME, STRONG, Screen
from everloop.interfaces.cli.session import USER, Session
from everloop.settings import Settings

PROGRAM = "everloop"


def install(session: Session, args: Namespace) -> int:
    """Write Everloop into Claude Code's files, or take it out; ask before, and ask about trust."""
    where = _files(args)
    if args.uninstall:
        changes = claude_code_config.uninstalled(where)
    else:
        _check_servable()
        changes = claude_code_config.installed(where, _command(session, args))
    if changes and not session.agreed(lambda s: _draw_diffs(s, changes), "Write this?"):
        return DECLINED
    for change in changes:
        change.write()
    trusted = _still_trusted(session) if args.uninstall else _trusted(session, new=bool(changes))
    answer: dict[str, Any] = {
        "host": HOST,
        "installed": not args.uninstall,
        "changed": [str(change.path) for change in changes],
        "trusted": trusted,
    }
    session.answer(answer, lambda screen: _draw(screen, changes, args, trusted))
    return DONE


def _check_servable() -> None:
    """Make sure that what the host is told to start can be started."""
    if find_spec("mcp") is None:
        raise Unavailable(
            "the MCP server is not installed", hint="Install it: pip install 'everloop[mcp]'"
        )


def _files(args: Namespace) -> Files:
    return claude_code_config.files(args.scope, home=Path.home(), project=Path.cwd())


def _command(session: Session, args: Namespace) -> list[str]:
    """How the host runs Everloop. A project's files are shared, so they name no place of ours."""
    if args.scope == "project":
        return [PROGRAM]
    found = shutil.which(PROGRAM)
    program = [found] if found else [sys.executable, "-m", PROGRAM]
    home = session.settings.home
    elsewhere = [] if home == Settings().home else ["--home", str(session.settings.folder)]
    tenant = [] if session.tenant == "local" else ["--tenant", session.tenant]
    return [*program, *elsewhere, *tenant]


def _trusted(session: Session, *, new: bool) -> bool:
    """Whether the user trusts the host to pass on their words.

    It is asked when something was written, and only of them: installing again asks nothing.
    """
    with session.engine() as engine:
        known = {host.host: host.trusted for host in engine.lessons.hosts()}
        if known.get(HOST) or session.actor != USER or not (new and session.asks):
            return known.get(HOST, False)
        if HOST in known or not session.agreed(_draw_trust, f"Trust {HOST}?", no="Not trusted."):
            return False
        engine.lessons.trust(HOST, by=speaker(session))
    return True


def _still_trusted(session: Session) -> bool:
    """Whether the user trusts the host; a data home that is not there is not made for that."""
    if not session.settings.folder.exists():
        return False
    with session.engine() as engine:
        return any(host.host == HOST and host.trusted for host in engine.lessons.hosts())


def _draw_trust(screen: Screen) -> None:
    screen.say(
        "May ", (HOST, NAME), " pass on your words? If you trust it, what it reports as your praise"
        " counts as yours when a lesson is to be promoted, and it may put lessons on trial, install"
        " packs and let go of lessons in your name. An agent in it can do all that too. If not, its"
        " reports are recorded, and your thumbs down still stops a lesson.",
    )  # fmt: skip


def _draw_diffs(screen: Screen, changes: list[Change]) -> None:
    styles = {"+": GOOD, "-": BAD, "@": FAINT}
    for change in changes:
        for line in change.diff:
            screen.say((line, styles.get(line[:1], "")))
        if change.after is None:
            screen.say((f"{change.path} is removed: nothing else is in it.", STRONG))
        screen.gap()


def _draw(screen: Screen, changes: list[Change], args: Namespace, trusted: bool) -> None:
    done = "Taken out of " if args.uninstall else "Installed into "
    if not changes:
        screen.say("Nothing to change: it is so already.")
    for change in changes:
        screen.say((done, GOOD), str(change.path))
    if args.uninstall:
        if trusted:
            screen.say(f"You still trust it to pass on your words: everloop hosts distrust {HOST}")
        return
    again = shlex.join(["everloop", "install", HOST, "--scope", args.scope, "--uninstall"])
    screen.say("Undo it: ", (again, NAME))
    if not trusted:
        screen.say(f"Its reports of your words do not count as yours: everloop hosts trust {HOST}")
