"""`everloop doctor` and `settings`: check the installation, and list the settings."""

from argparse import Namespace

from rich.text import Text

from everloop.adapters.machine import SystemMachine
from everloop.doctor import Doctor, Examination, Finding
from everloop.errors import Unavailable
from everloop.interfaces.cli.output.exit_codes import EXIT_CODES
from everloop.interfaces.cli.output.screen import (
    BAD,
    FAINT,
    GOOD,
    NAME,
    STRONG,
    WARNING,
    Screen,
    styled,
)
from everloop.interfaces.cli.session import Session
from everloop.settings import FILE, Described, described

MARKS = {
    "fine": ("✓", GOOD),
    "attention": ("!", WARNING),
    "absent": ("·", FAINT),
    "broken": ("✗", BAD),
}


def doctor(session: Session, _: Namespace) -> int | None:
    """Check the installation and suggest fixes."""
    found = Doctor(session.settings, session.tenant, SystemMachine(), session.world).examine()
    session.answer(
        {"usable": found.usable, "findings": found.findings},
        lambda screen: _draw_findings(screen, found),
    )
    return None if found.usable else EXIT_CODES[Unavailable]


def settings(session: Session, _: Namespace) -> None:
    """List all settings and their values."""
    rows = described(session.settings)
    session.answer(rows, lambda screen: _draw_settings(screen, rows, session))


def _draw_findings(screen: Screen, found: Examination) -> None:
    screen.table(
        ("", "", ""),
        [(styled(MARKS[one.verdict]), one.topic, _describe(one)) for one in found.findings],
    )
    screen.gap()
    if not found.usable:
        screen.say(("Everloop cannot run here yet. ", BAD), "Fix the lines marked ✗ first.")
    elif any(one.verdict == "attention" for one in found.findings):
        screen.say(("Everloop is ready. ", GOOD), "Check the lines marked !.")
    else:
        screen.say(("Everloop is ready.", GOOD))


def _describe(finding: Finding) -> Text:
    style = FAINT if finding.verdict == "absent" else ""
    step = ("\n→ " + finding.next_step, STRONG) if finding.next_step else ""
    return styled((finding.words, style), step)


def _draw_settings(screen: Screen, rows: list[Described], session: Session) -> None:
    path = session.settings.folder / FILE
    screen.say((f"Values come from the environment, {path}, or the defaults.", FAINT))
    screen.say((f"Environment variable of {rows[-1].name}: {rows[-1].variable}.", FAINT))
    screen.table(
        ("setting", "value", "meaning"),
        [
            (
                styled((row.name, NAME)),
                styled((str(row.value), "" if row.value == row.default else STRONG)),
                row.meaning,
            )
            for row in rows
        ],
    )
