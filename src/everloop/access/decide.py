"""Decisions about access: pure functions of the paired devices and passkeys.

Codes are made at the server's own terminal or on a signed-in device. A code works once. Only the
user pairs, revokes or renames a device: a renamed device could trick the user into revoking the
wrong one.
"""

import re

from everloop.access.commands import (
    AddPasskey,
    AllowModelService,
    MakeCode,
    PairDevice,
    RemovePasskey,
    RenameDevice,
    RevokeDevice,
    UsePasskey,
    WithdrawModelService,
)
from everloop.access.events import (
    CodeMade,
    DevicePaired,
    DeviceRenamed,
    DeviceRevoked,
    ModelServiceAllowed,
    ModelServiceWithdrawn,
    PasskeyAdded,
    PasskeyRemoved,
    PasskeyUsed,
)
from everloop.access.state import HOST_TOKEN, AccessState
from everloop.errors import Forbidden, Invalid, NotFound
from everloop.log import DecisionContext, Event
from everloop.log.model.record import to_microseconds
from everloop.memory.model.scopes import OWNER

NAME_MAX = 80
DEVICES_MAX = 50
CODE_LIVES_MAX_US = 86_400_000_000  # a day, whatever the settings say
PAIRING_WAYS = ("code", "passkey", "proxy", HOST_TOKEN)
# `cli` is reserved for commands without a terminal, which only the owner can admit.
HOST_NAME_PATTERN = re.compile(r"(?!(?i:cli|capture)\Z)[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def make_code(doors: AccessState | None, command: MakeCode, asking: DecisionContext) -> list[Event]:
    """Make a code that expires."""
    del doors
    require_user(asking.by.actor, "pair a device")
    lives_us = min(command.lives_s * 1_000_000, CODE_LIVES_MAX_US)
    return [CodeMade(command.code_digest, to_microseconds(asking.now) + lives_us)]


def pair_device(
    doors: AccessState | None, command: PairDevice, asking: DecisionContext
) -> list[Event]:
    """Pair a device, if its code or passkey is valid."""
    known = doors or AccessState()
    if command.way not in PAIRING_WAYS:
        raise Invalid(
            f"{command.way!r} is not a way to pair a device", hint=f"Use {', '.join(PAIRING_WAYS)}."
        )
    left_us = known.codes.get(command.via, 0) - to_microseconds(asking.now)
    # A code that would live longer than any can was made while the clock was wrong.
    if command.way == "code" and not 0 < left_us <= CODE_LIVES_MAX_US:
        raise Forbidden(
            "this code is wrong, has expired or was already used",
            hint="Make a new one with `everloop pair`.",
        )
    if command.way == "passkey" and command.via not in known.passkeys:
        raise Forbidden("this passkey is not known here", hint="Add it from a signed-in device.")
    if command.way == HOST_TOKEN:
        _check_host(command.via, asking)
    return [
        *_make_room(known),
        DevicePaired(
            command.device_id,
            _name(command.name),
            command.secret_digest,
            command.way,
            command.via,
            to_microseconds(asking.now),
        ),
    ]


def _make_room(known: AccessState) -> list[Event]:
    """Revoke the oldest device that a proxy signed in, if the limit is reached.

    A proxy signs in again by itself, so its visits never keep another device out.
    """
    if len(known.devices) < DEVICES_MAX:
        return []
    visits = [device for device in known.devices.values() if device.way == "proxy"]
    if not visits:
        raise Invalid(f"{DEVICES_MAX} devices are signed in already", hint="Revoke one first.")
    return [DeviceRevoked(min(visits, key=lambda device: device.position).device_id)]


def rename_device(
    doors: AccessState | None, command: RenameDevice, asking: DecisionContext
) -> list[Event]:
    """Rename a device. Idempotent."""
    require_user(asking.by.actor, "rename a device")
    device = (doors or AccessState()).devices.get(command.device_id)
    if device is None:
        raise NotFound(f"no device {command.device_id!r}", hint="`everloop devices` lists them.")
    name = _name(command.name)
    return [] if device.name == name else [DeviceRenamed(command.device_id, name)]


def revoke_device(
    doors: AccessState | None, command: RevokeDevice, asking: DecisionContext
) -> list[Event]:
    """Revoke a device's access. Idempotent."""
    require_user(asking.by.actor, "revoke a device")
    if command.device_id not in (doors or AccessState()).devices:
        return []
    return [DeviceRevoked(command.device_id)]


def add_passkey(
    doors: AccessState | None, command: AddPasskey, asking: DecisionContext
) -> list[Event]:
    """Register a passkey. Idempotent."""
    require_user(asking.by.actor, "add a passkey")
    if command.credential in (doors or AccessState()).passkeys:
        return []
    return [
        PasskeyAdded(
            command.credential,
            command.public_key,
            command.sign_count,
            _name(command.name),
            command.site,
        )
    ]


def use_passkey(
    doors: AccessState | None, command: UsePasskey, asking: DecisionContext
) -> list[Event]:
    """Record a sign-in with a passkey. A counter that does not increase means a copied key."""
    del asking
    key = (doors or AccessState()).passkeys.get(command.credential)
    if key is None:
        raise Forbidden("this passkey is not known here", hint="Add it from a signed-in device.")
    if command.sign_count and command.sign_count <= key.sign_count:
        raise Forbidden("this passkey may have been copied", hint="Remove it and add a new one.")
    return (
        []
        if command.sign_count == key.sign_count
        else [PasskeyUsed(command.credential, command.sign_count)]
    )


def remove_passkey(
    doors: AccessState | None, command: RemovePasskey, asking: DecisionContext
) -> list[Event]:
    """Remove a passkey. Idempotent."""
    require_user(asking.by.actor, "remove a passkey")
    if command.credential not in (doors or AccessState()).passkeys:
        return []
    return [PasskeyRemoved(command.credential)]


def allow_model_service(
    doors: AccessState | None, command: AllowModelService, asking: DecisionContext
) -> list[Event]:
    """Allow a model service at an address. Idempotent; another address needs another yes."""
    require_user(asking.by.actor, "allow a model service")
    known = (doors or AccessState()).model_services
    if known.get(command.service) == command.address:
        return []
    return [ModelServiceAllowed(command.service, command.address)]


def withdraw_model_service(
    doors: AccessState | None, command: WithdrawModelService, asking: DecisionContext
) -> list[Event]:
    """Withdraw a model service. Idempotent."""
    require_user(asking.by.actor, "withdraw a model service")
    known = (doors or AccessState()).model_services
    return [ModelServiceWithdrawn(command.service)] if command.service in known else []


def require_user(actor: str, act: str) -> None:
    """Accept the user only.

    Raises:
        Forbidden: the actor is somebody else.
    """
    if actor != OWNER:
        raise Forbidden(
            f"only the user can {act}",
            hint="Do it yourself, at a terminal or in the web pages.",
        )


def _check_host(host: str, asking: DecisionContext) -> None:
    require_user(asking.by.actor, "give a host a token")
    if not HOST_NAME_PATTERN.fullmatch(host):
        raise Invalid(
            f"{host!r} is not a host's name",
            hint="Use up to 64 letters, digits, dots, hyphens and underscores.",
        )


def _name(name: str) -> str:
    plain = " ".join(name.split())[:NAME_MAX]
    return plain or "a device"
