"""`everloop lessons rules`: the thresholds of the gate, in the settings and in the log."""

from argparse import Namespace

import msgspec

from everloop.interfaces.cli.audience import command_context
from everloop.interfaces.cli.output.screen import GOOD, NAME, Screen, styled_text
from everloop.interfaces.cli.permissions import require_user
from everloop.interfaces.cli.session import Session
from everloop.lessons import RULE_NAMES, GateRules, GateRulesView


def rules(session: Session, args: Namespace) -> None:
    """Show the thresholds, after adopting those of the settings if that was asked for.

    Raises:
        Forbidden: `--adopt` by a script or an agent's shell.
    """
    if args.adopt:
        require_user(session, "change the rules of the gate")
    with session.open_engine() if args.adopt else session.open_for_reading() as engine:
        changed = args.adopt and engine.lessons.adopt_rules(by=command_context(session))
        found = engine.lessons.gate_rules()
    document = {
        "settings": found.settings,
        "log": found.log,
        "in_effect": found.in_effect,
        "changed": bool(changed),
    }
    session.print_result(
        msgspec.to_builtins(document), lambda screen: _draw(screen, found, bool(changed))
    )


def _draw(screen: Screen, found: GateRulesView, changed: bool) -> None:
    if changed:
        screen.paragraph(("Adopted", GOOD), ": the log now has the rules of the settings.")
    screen.table(
        ("rule", "settings", "log", "in effect"),
        [
            (
                styled_text((name, NAME)),
                _shown(found.settings, name),
                _shown(found.log, name),
                _shown(found.in_effect, name),
            )
            for name in RULE_NAMES
        ],
    )
    if found.log is not None and found.log != found.settings:
        screen.advice(
            "The strictest counts. To take the settings' values into the log:"
            " everloop lessons rules --adopt"
        )


def _shown(rules: GateRules | None, name: str) -> str:
    return "-" if rules is None else f"{getattr(rules, name):g}"
