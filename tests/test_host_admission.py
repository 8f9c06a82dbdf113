"""Who is let in through a door that programs knock on."""

from collections.abc import Generator
from pathlib import Path

import pytest

from everloop.app import Engine
from everloop.errors import Forbidden, Invalid
from everloop.host_admission import admit, host_of
from everloop.log import Context
from everloop.memory.model.commands import GrantAudience, RememberItem, RevokeAudience
from everloop.memory.projections.queries import asker
from everloop.settings import DoorSettings
from everloop.testing.deterministic import Stage

ALL = DoorSettings()
HOST = "agent:squid"
USER = Context()


@pytest.fixture
def engine(tmp_path: Path) -> Generator[Engine]:
    with Engine.open(tmp_path, world=Stage().world) as opened:
        yield opened


def _scopes(engine: Engine) -> tuple[str, ...]:
    with engine.reading() as reader:
        return asker(reader, HOST).scopes


def test_a_host_that_nobody_spoke_of_is_let_in_once_by_a_fact(engine: Engine) -> None:
    assert admit(engine, HOST, ALL)
    assert not admit(engine, HOST, ALL)
    assert _scopes(engine) == ("*",)
    assert [record.actor for record in engine.log.records()] == ["engine"]


def test_what_the_user_granted_stays_as_it_is(engine: Engine) -> None:
    engine.do(GrantAudience(HOST, ("user",)), by=USER)
    assert not admit(engine, HOST, ALL)
    assert _scopes(engine) == ("user",)


@pytest.mark.promise("P-RPC-3")
def test_a_host_that_the_user_shut_out_is_not_let_in_again(engine: Engine) -> None:
    admit(engine, HOST, ALL)
    engine.do(RevokeAudience(HOST), by=USER)
    assert not admit(engine, HOST, ALL)
    assert _scopes(engine) == ()


@pytest.mark.promise("P-RPC-3")
def test_a_host_whose_admission_was_retracted_is_not_let_in_again(engine: Engine) -> None:
    admit(engine, HOST, ALL)
    engine.log.retract([engine.log.head], reason="no", actor="user")
    assert not admit(engine, HOST, ALL)
    assert _scopes(engine) == ()


def test_one_who_rewinds_behind_an_admission_meets_the_host_anew(engine: Engine) -> None:
    engine.do(RememberItem("mem-1", "Something came before."), by=USER)
    before = engine.log.head
    admit(engine, HOST, ALL)
    engine.log.rewind(before, actor="user")
    assert admit(engine, HOST, ALL)


def test_nobody_is_let_in_by_itself_where_the_user_wants_to_grant(engine: Engine) -> None:
    assert not admit(engine, HOST, DoorSettings(admit_hosts="granted"))
    assert engine.log.head == 0


def test_a_host_cannot_let_itself_in(engine: Engine) -> None:
    with pytest.raises(Forbidden, match="may not grant or revoke access"):
        engine.do(GrantAudience(HOST, ("*",)), by=Context(actor=HOST))


@pytest.mark.parametrize("name", ["squid", "Claude-Code", "a.b_c-1", "cli2", "x" * 64])
def test_a_host_has_a_short_plain_name(name: str) -> None:
    assert host_of(name) == f"agent:{name}"


@pytest.mark.parametrize(
    "name", ["", "-x", "a b", "user:x", "é", "x" * 65, "a\n", "../x", "cli", "CLI"]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(Invalid, match="is not a host's name"):
        host_of(name)
