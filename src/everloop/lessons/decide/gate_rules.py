"""The decision about the gate's rules in the log: set once by the engine, changed by the user."""

from everloop.errors import Forbidden
from everloop.lessons.model.commands import SetGateRules
from everloop.lessons.model.events import GateRulesSet
from everloop.lessons.settings import RULE_NAMES, GateRules
from everloop.log import DecisionContext, Event
from everloop.memory.model.decide import ENGINE
from everloop.memory.model.scopes import OWNER


def set_gate_rules(
    rules: GateRules | None, command: SetGateRules, asking: DecisionContext
) -> list[Event]:
    """Set the rules: the engine only if there are none, later only the user, in person."""
    if asking.by.actor not in (OWNER, ENGINE):
        raise Forbidden(
            f"{asking.by.actor} may not change the rules of the gate",
            hint="Only the user can, at a terminal: `everloop lessons rules --adopt`.",
        )
    if rules is not None and (asking.by.actor == ENGINE or rules == command.rules):
        return []
    return [GateRulesSet(**{name: getattr(command.rules, name) for name in RULE_NAMES})]
