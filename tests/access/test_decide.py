"""Decisions about access, given previous facts."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from everloop.access import decide
from everloop.access.commands import (
    AddPasskey,
    MakeCode,
    PairDevice,
    RemovePasskey,
    RenameDevice,
    RevokeDevice,
    UsePasskey,
)
from everloop.access.events import (
    CodeMade,
    DevicePaired,
    DeviceRenamed,
    DeviceRevoked,
    PasskeyAdded,
    PasskeyRemoved,
    PasskeyUsed,
)
from everloop.access.state import ACCESS_FOLD
from everloop.errors import Forbidden, Invalid, NotFound
from everloop.log import Command, Event
from everloop.log.model.record import to_microseconds
from everloop.testing.deterministic import NEW_YEAR, given

LATER_US = to_microseconds(NEW_YEAR + timedelta(minutes=10))
CODE = CodeMade("c1", LATER_US)
PHONE = DevicePaired("dev-1", "phone", "s1", "code", "c1", 0)
KEY = PasskeyAdded("key", "public", 5, "a key", "localhost")
COMES = PairDevice("dev-2", "laptop", "s2", "code", "c1")


def test_a_code_expires_after_the_given_time() -> None:
    assert given(ACCESS_FOLD).when(decide.make_code, MakeCode("c1", 600)) == [CODE]


def test_a_valid_code_pairs_a_device() -> None:
    happened = given(ACCESS_FOLD, CODE).when(decide.pair_device, COMES)
    now_us = to_microseconds(NEW_YEAR)
    assert happened == [DevicePaired("dev-2", "laptop", "s2", "code", "c1", now_us)]


@pytest.mark.parametrize(
    "before",
    [
        (),
        (CodeMade("c2", LATER_US),),
        (CODE, PHONE),
        (CodeMade("c1", to_microseconds(NEW_YEAR)),),
        (CodeMade("c1", to_microseconds(NEW_YEAR + timedelta(days=5_000))),),
    ],
    ids=["no code", "another code", "a used code", "an expired code", "a code of a wrong clock"],
)
def test_an_unknown_or_expired_code_pairs_nothing(
    before: tuple[CodeMade | DevicePaired, ...],
) -> None:
    with pytest.raises(Forbidden, match="wrong, has expired or was already used"):
        given(ACCESS_FOLD, *before).when(decide.pair_device, COMES)


def test_an_expired_code_is_dropped_when_the_next_one_is_made() -> None:
    late = given(ACCESS_FOLD, CodeMade("old", 1), CODE)
    assert late.state is not None
    assert set(late.state.codes) == {"c1"}


def test_an_unknown_way_to_pair_is_refused() -> None:
    with pytest.raises(Invalid, match="not a way to pair"):
        given(ACCESS_FOLD, CODE).when(decide.pair_device, PairDevice("d", "n", "s", "window", "c1"))


def test_an_unknown_passkey_pairs_nothing() -> None:
    comes = PairDevice("dev-2", "laptop", "s2", "passkey", "key")
    with pytest.raises(Forbidden, match="not known"):
        given(ACCESS_FOLD).when(decide.pair_device, comes)
    assert given(ACCESS_FOLD, KEY).when(decide.pair_device, comes)


def test_the_number_of_devices_is_limited() -> None:
    many = [
        DevicePaired(f"d{n}", "n", "s", "code", f"old-{n}", 0) for n in range(decide.DEVICES_MAX)
    ]
    with pytest.raises(Invalid, match="already"):
        given(ACCESS_FOLD, CODE, *many).when(decide.pair_device, COMES)


def test_visits_through_a_proxy_never_keep_another_device_out() -> None:
    many = [DevicePaired(f"d{n}", "n", "s", "proxy", "me", 0) for n in range(decide.DEVICES_MAX)]
    revoked, paired = given(ACCESS_FOLD, CODE, *many).when(decide.pair_device, COMES)
    assert revoked == DeviceRevoked("d0")
    assert isinstance(paired, DevicePaired)


def test_a_device_name_is_one_line_of_limited_length() -> None:
    long = PairDevice("d", f" a\n\tb {'x' * 200}", "s", "code", "c1")
    (paired,) = given(ACCESS_FOLD, CODE).when(decide.pair_device, long)
    assert isinstance(paired, DevicePaired)
    assert paired.name.startswith("a b x")
    assert len(paired.name) == decide.NAME_MAX
    nameless = PairDevice("d", " \n ", "s", "code", "c1")
    (paired,) = given(ACCESS_FOLD, CODE).when(decide.pair_device, nameless)
    assert isinstance(paired, DevicePaired)
    assert paired.name == "a device"


def test_renaming_needs_a_device_and_a_different_name() -> None:
    here = given(ACCESS_FOLD, CODE, PHONE)
    assert here.when(decide.rename_device, RenameDevice("dev-1", "my phone")) == [
        DeviceRenamed("dev-1", "my phone")
    ]
    assert here.when(decide.rename_device, RenameDevice("dev-1", "phone")) == []
    with pytest.raises(NotFound):
        here.when(decide.rename_device, RenameDevice("dev-9", "x"))


def test_revoking_a_device_is_idempotent() -> None:
    here = given(ACCESS_FOLD, CODE, PHONE)
    assert here.when(decide.revoke_device, RevokeDevice("dev-1")) == [DeviceRevoked("dev-1")]
    gone = given(ACCESS_FOLD, CODE, PHONE, DeviceRevoked("dev-1"))
    assert gone.when(decide.revoke_device, RevokeDevice("dev-1")) == []


def test_adding_and_removing_a_passkey_is_idempotent() -> None:
    add = AddPasskey("key", "public", 5, "a key", "localhost")
    assert given(ACCESS_FOLD).when(decide.add_passkey, add) == [KEY]
    assert given(ACCESS_FOLD, KEY).when(decide.add_passkey, add) == []
    remove = RemovePasskey("key")
    assert given(ACCESS_FOLD, KEY).when(decide.remove_passkey, remove) == [PasskeyRemoved("key")]
    assert given(ACCESS_FOLD).when(decide.remove_passkey, remove) == []


def test_a_counter_that_goes_back_means_a_copied_key() -> None:
    here = given(ACCESS_FOLD, KEY)
    assert here.when(decide.use_passkey, UsePasskey("key", 6)) == [PasskeyUsed("key", 6)]
    for count in (5, 4):
        with pytest.raises(Forbidden, match="copied"):
            here.when(decide.use_passkey, UsePasskey("key", count))
    with pytest.raises(Forbidden, match="not known"):
        given(ACCESS_FOLD).when(decide.use_passkey, UsePasskey("key", 6))


def test_a_passkey_without_a_counter_may_sign_repeatedly() -> None:
    still = PasskeyAdded("key", "public", 0, "a key", "localhost")
    assert given(ACCESS_FOLD, still).when(decide.use_passkey, UsePasskey("key", 0)) == []


@pytest.mark.parametrize(
    ("decision", "command"),
    [
        (decide.make_code, MakeCode("c2")),
        (decide.revoke_device, RevokeDevice("dev-1")),
        (decide.rename_device, RenameDevice("dev-1", "x")),
        (decide.add_passkey, AddPasskey("other", "public", 5, "a key", "localhost")),
        (decide.remove_passkey, RemovePasskey("key")),
    ],
)
def test_only_the_user_manages_access(
    decision: Callable[..., list[Event]], command: Command
) -> None:
    with pytest.raises(Forbidden, match="only the user"):
        given(ACCESS_FOLD, CODE, PHONE, KEY).when(decision, command, actor="agent:cli")
