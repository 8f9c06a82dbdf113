"""`everloop doctor` and `settings`: is everything in place, and what is set."""

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
    """Say what is found, what is missing and what to do."""
    found = Doctor(session.settings, session.tenant, SystemMachine(), session.world).examine()
    session.answer(
        {"usable": found.usable, "findings": found.findings},
        lambda screen: _examined(screen, found),
    )
    return None if found.usable else EXIT_CODES[Unavailable]


def settings(session: Session, _: Namespace) -> None:
    """Show every setting and its value."""
    rows = described(session.settings)
    session.answer(rows, lambda screen: _listed(screen, rows, session))


def _examined(screen: Screen, found: Examination) -> None:
    screen.table(
        ("", "", ""),
        [(styled(MARKS[one.verdict]), one.topic, _words(one)) for one in found.findings],
    )
    screen.gap()
    if not found.usable:
        screen.say(("Everloop cannot work here yet. ", BAD), "Start with the lines marked ✗.")
    elif any(one.verdict == "attention" for one in found.findings):
        screen.say(("Everloop can work here. ", GOOD), "The lines marked ! are worth a look.")
    else:
        screen.say(("Everloop can work here.", GOOD))


def _words(finding: Finding) -> Text:
    style = FAINT if finding.verdict == "absent" else ""
    step = ("\n→ " + finding.next_step, STRONG) if finding.next_step else ""
    return styled((finding.words, style), step)


def _listed(screen: Screen, rows: list[Described], session: Session) -> None:
    path = session.settings.folder / FILE
    screen.say((f"Set in the environment, in {path}, or by default.", FAINT))
    screen.say((f"In the environment, {rows[-1].name} is {rows[-1].variable}.", FAINT))
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
