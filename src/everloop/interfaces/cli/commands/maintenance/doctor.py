"""`everloop doctor` and `settings`: check the installation, and list the settings."""

from argparse import Namespace

from rich.text import Text

from everloop.adapters import SystemMachine
from everloop.doctor import Doctor, DoctorReport, Finding
from everloop.errors import Unavailable
from everloop.interfaces.cli.output.exit_codes import EXIT_CODES
from everloop.interfaces.cli.output.screen import (
    BAD,
    BOLD,
    DIM,
    GOOD,
    NAME,
    WARNING,
    Screen,
    styled_text,
)
from everloop.interfaces.cli.session import Session
from everloop.settings import FILE, SettingDescription, describe_settings

MARKS = {
    "fine": ("✓", GOOD),
    "attention": ("!", WARNING),
    "absent": ("·", DIM),
    "broken": ("✗", BAD),
}


def doctor(session: Session, _: Namespace) -> int | None:
    """Check the installation and suggest fixes."""
    found = Doctor(session.settings, session.tenant, SystemMachine(), session.ports).run_checks()
    session.print_result(
        {"usable": found.usable, "findings": found.findings},
        lambda screen: _draw_findings(screen, found),
    )
    return None if found.usable else EXIT_CODES[Unavailable]


def settings(session: Session, _: Namespace) -> None:
    """List all settings and their values."""
    rows = describe_settings(session.settings)
    session.print_result(rows, lambda screen: _draw_settings(screen, rows, session))


def _draw_findings(screen: Screen, found: DoctorReport) -> None:
    screen.table(
        ("", "", ""),
        [
            (styled_text(MARKS[one.verdict]), one.topic, _describe(screen, one))
            for one in found.findings
        ],
    )
    screen.blank_line()
    if not found.usable:
        screen.paragraph(("Everloop cannot run here yet. ", BAD), "Fix the lines marked ✗ first.")
    elif any(one.verdict == "attention" for one in found.findings):
        screen.paragraph(("Everloop is ready. ", GOOD), "Check the lines marked !.")
    else:
        screen.paragraph(("Everloop is ready.", GOOD))


def _describe(screen: Screen, finding: Finding) -> Text:
    style = DIM if finding.verdict == "absent" else ""
    step = ("\n→ " + screen.next_step(finding.next_step), BOLD) if finding.next_step else ""
    return styled_text((finding.words, style), step)


def _draw_settings(screen: Screen, rows: list[SettingDescription], session: Session) -> None:
    path = session.settings.folder / FILE
    screen.paragraph((f"Values come from the environment, {path}, or the defaults.", DIM))
    screen.paragraph((f"Environment variable of {rows[-1].name}: {rows[-1].variable}.", DIM))
    screen.table(
        ("setting", "value", "meaning"),
        [
            (
                styled_text((row.name, NAME)),
                styled_text((str(row.value), "" if row.value == row.default else BOLD)),
                row.meaning,
            )
            for row in rows
        ],
    )
