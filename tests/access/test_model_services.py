"""Which model services may be sent prompts: only what the user allowed, at that address."""

import pytest

from everloop.access import commands as c
from everloop.access import decide as d
from everloop.access import events as e
from everloop.access.state import AccessState
from everloop.errors import Forbidden
from everloop.log import Context, DecisionContext
from everloop.testing.deterministic import NEW_YEAR

HERE = "http://127.0.0.1:11434/v1"
ALLOW = c.AllowModelService("ollama", HERE)
ALLOWED = AccessState(model_services={"ollama": HERE})


def by(actor: str = "user") -> DecisionContext:
    return DecisionContext(Context(actor=actor), NEW_YEAR)


def test_the_users_yes_is_recorded_once() -> None:
    assert d.allow_model_service(None, ALLOW, by()) == [e.ModelServiceAllowed("ollama", HERE)]
    assert d.allow_model_service(ALLOWED, ALLOW, by()) == []


def test_another_address_needs_another_yes() -> None:
    elsewhere = c.AllowModelService("ollama", "http://127.0.0.1:9/v1")
    assert d.allow_model_service(ALLOWED, elsewhere, by()) != []


def test_a_service_can_be_withdrawn() -> None:
    command = c.WithdrawModelService("ollama")
    assert d.withdraw_model_service(ALLOWED, command, by()) == [e.ModelServiceWithdrawn("ollama")]
    assert d.withdraw_model_service(None, command, by()) == []


@pytest.mark.parametrize("actor", ["agent:cli", "engine", "agent:thread"])
def test_nobody_but_the_user_allows_a_service(actor: str) -> None:
    with pytest.raises(Forbidden):
        d.allow_model_service(None, ALLOW, by(actor))
    with pytest.raises(Forbidden):
        d.withdraw_model_service(ALLOWED, c.WithdrawModelService("ollama"), by(actor))
