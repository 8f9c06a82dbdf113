"""Admission of hosts: who gets access, and who does not."""

from collections.abc import Generator
from pathlib import Path

import pytest

from everloop.app import Engine
from everloop.errors import Forbidden, Invalid
from everloop.host_admission import admit_host, host_actor, no_access_hint
from everloop.log import Context
from everloop.memory.model.commands import GrantAudience, RememberItem, RevokeAudience
from everloop.memory.model.scopes import NEW_HOSTS
from everloop.memory.projections.queries import load_viewer
from everloop.settings import DoorSettings
from everloop.testing.deterministic import DeterministicPorts

ALL = DoorSettings()
HOST = "agent:squid"
USER = Context()


@pytest.fixture
def engine(tmp_path: Path) -> Generator[Engine]:
    with Engine.open(tmp_path, ports=DeterministicPorts().ports) as opened:
        yield opened


def _scopes(engine: Engine) -> tuple[str, ...]:
    with engine.reading() as reader:
        return load_viewer(reader, HOST).scopes


def test_a_new_host_is_granted_access_once_by_a_fact(engine: Engine) -> None:
    assert admit_host(engine, HOST, ALL)
    assert not admit_host(engine, HOST, ALL)
    assert _scopes(engine) == ("*",)
    assert [record.actor for record in engine.log.records()] == ["engine"]


def test_a_users_grant_is_not_widened(engine: Engine) -> None:
    engine.do(GrantAudience(HOST, ("user",)), by=USER)
    assert not admit_host(engine, HOST, ALL)
    assert _scopes(engine) == ("user",)


@pytest.mark.promise("P-RPC-3")
def test_a_host_revoked_by_the_user_is_not_admitted_again(engine: Engine) -> None:
    admit_host(engine, HOST, ALL)
    engine.do(RevokeAudience(HOST), by=USER)
    assert not admit_host(engine, HOST, ALL)
    assert _scopes(engine) == ()


@pytest.mark.promise("P-RPC-3")
def test_a_host_whose_admission_was_retracted_is_not_admitted_again(engine: Engine) -> None:
    admit_host(engine, HOST, ALL)
    engine.log.retract([engine.log.head], reason="no", actor="user")
    assert not admit_host(engine, HOST, ALL)
    assert _scopes(engine) == ()


def test_after_a_rewind_before_its_admission_a_host_is_admitted_again(engine: Engine) -> None:
    engine.do(RememberItem("mem-1", "Something came before."), by=USER)
    before = engine.log.head
    admit_host(engine, HOST, ALL)
    engine.log.rewind(before, actor="user")
    assert admit_host(engine, HOST, ALL)


def test_with_admit_hosts_granted_no_host_is_admitted(engine: Engine) -> None:
    assert not admit_host(engine, HOST, DoorSettings(admit_hosts="granted"))
    assert _scopes(engine) == ()


@pytest.mark.promise("P-TRUST-4")
def test_other_settings_beside_the_same_log_do_not_let_hosts_in(engine: Engine) -> None:
    admit_host(engine, HOST, DoorSettings(admit_hosts="granted"))
    assert not admit_host(engine, "agent:anything", ALL)
    engine.do(GrantAudience(NEW_HOSTS, ("*",)), by=USER)
    assert admit_host(engine, HOST, ALL)


@pytest.mark.promise("P-TRUST-4")
def test_the_user_closes_the_log_to_new_hosts_at_a_terminal(engine: Engine) -> None:
    admit_host(engine, HOST, ALL)
    engine.do(RevokeAudience(NEW_HOSTS), by=USER)
    assert not admit_host(engine, "agent:anything", ALL)
    assert _scopes(engine) == ("*",)
    with pytest.raises(Forbidden):
        engine.do(GrantAudience(NEW_HOSTS, ("*",)), by=Context(actor=HOST))


@pytest.mark.promise("P-CLI-5")
def test_a_command_lets_its_host_in_only_where_nobody_else_has_written(engine: Engine) -> None:
    assert admit_host(engine, HOST, ALL, by_command=True)
    engine.do(RememberItem("mem-1", "The PIN is 4711."), by=Context(actor=HOST))
    assert not admit_host(engine, "agent:anything", ALL, by_command=True)
    assert "grants allow agent:anything" in no_access_hint(engine, "agent:anything")
    engine.do(GrantAudience(NEW_HOSTS, ("*",)), by=USER)
    assert admit_host(engine, "agent:anything", ALL, by_command=True)
    assert not no_access_hint(engine, "agent:anything")


def test_new_hosts_can_be_let_into_some_scopes_only(engine: Engine) -> None:
    engine.do(GrantAudience(NEW_HOSTS, ("project:zoo",)), by=USER)
    assert admit_host(engine, HOST, ALL)
    assert _scopes(engine) == ("project:zoo",)


def test_a_host_cannot_grant_itself_access(engine: Engine) -> None:
    with pytest.raises(Forbidden, match="may not grant or revoke access"):
        engine.do(GrantAudience(HOST, ("*",)), by=Context(actor=HOST))


@pytest.mark.parametrize("name", ["squid", "Claude-Code", "a.b_c-1", "cli2", "x" * 64])
def test_valid_host_names_are_accepted(name: str) -> None:
    assert host_actor(name) == f"agent:{name}"


@pytest.mark.parametrize(
    "name", ["", "-x", "a b", "user:x", "é", "x" * 65, "a\n", "../x", "cli", "CLI", "capture"]
)
def test_invalid_host_names_are_refused(name: str) -> None:
    with pytest.raises(Invalid, match="is not a valid host name"):
        host_actor(name)
