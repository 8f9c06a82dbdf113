"""Decisions about access: pure, from who is let in now.

Codes are made and devices let in by whoever runs the server: its own terminal, or a signed-in
device. A code works once. Only the user lets anybody in, shuts anybody out, or says what a device
is called: who could change the names could make the user shut out the wrong one.
"""

import re

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
from everloop.access.state import HOST, Doors
from everloop.errors import Forbidden, Invalid, NotFound
from everloop.log import Asking, Event
from everloop.log.model.record import microseconds
from everloop.memory.model.scopes import OWNER

NAME_MAX = 80
DEVICES_MAX = 50
WAYS = ("code", "passkey", "proxy", HOST)
# `cli` is whoever types without a terminal, and only the owner lets that in.
HOST_NAME = re.compile(r"(?!(?i:cli)\Z)[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def make_code(doors: Doors | None, command: MakeCode, asking: Asking) -> list[Event]:
    """Make a code that holds for a while."""
    del doors
    check_user(asking.by.actor, "let a device in")
    return [CodeMade(command.code_digest, microseconds(asking.now) + command.lives_s * 1_000_000)]


def pair_device(doors: Doors | None, command: PairDevice, asking: Asking) -> list[Event]:
    """Let a device in, if what it brings opens."""
    known = doors or Doors()
    if command.way not in WAYS:
        raise Invalid(f"{command.way!r} is no way in", hint=f"Use {', '.join(WAYS)}.")
    until = known.codes.get(command.via, 0)
    if command.way == "code" and until <= microseconds(asking.now):
        raise Forbidden(
            "this code does not open anything", hint="Ask for a new one: everloop pair."
        )
    if command.way == "passkey" and command.via not in known.passkeys:
        raise Forbidden("this passkey is not known here", hint="Add it from a signed-in device.")
    if command.way == HOST:
        _check_host(command.via, asking)
    if len(known.devices) >= DEVICES_MAX:
        raise Invalid(f"{DEVICES_MAX} devices are signed in already", hint="Revoke one first.")
    return [
        DevicePaired(
            command.device_id,
            _name(command.name),
            command.secret_digest,
            command.way,
            command.via,
        )
    ]


def rename_device(doors: Doors | None, command: RenameDevice, asking: Asking) -> list[Event]:
    """Call it something else."""
    check_user(asking.by.actor, "rename a device")
    device = (doors or Doors()).devices.get(command.device_id)
    if device is None:
        raise NotFound(f"no device {command.device_id!r}", hint="`everloop devices` lists them.")
    name = _name(command.name)
    return [] if device.name == name else [DeviceRenamed(command.device_id, name)]


def revoke_device(doors: Doors | None, command: RevokeDevice, asking: Asking) -> list[Event]:
    """Let it in no more. Asking twice is harmless."""
    check_user(asking.by.actor, "revoke a device")
    if command.device_id not in (doors or Doors()).devices:
        return []
    return [DeviceRevoked(command.device_id)]


def add_passkey(doors: Doors | None, command: AddPasskey, asking: Asking) -> list[Event]:
    """Take a key in."""
    check_user(asking.by.actor, "add a passkey")
    if command.credential in (doors or Doors()).passkeys:
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


def use_passkey(doors: Doors | None, command: UsePasskey, asking: Asking) -> list[Event]:
    """Note that a key signed. A counter that goes back is a copied key."""
    del asking
    key = (doors or Doors()).passkeys.get(command.credential)
    if key is None:
        raise Forbidden("this passkey is not known here", hint="Add it from a signed-in device.")
    if command.sign_count and command.sign_count <= key.sign_count:
        raise Forbidden("this passkey was copied", hint="Remove it and add a new one.")
    return (
        []
        if command.sign_count == key.sign_count
        else [PasskeyUsed(command.credential, command.sign_count)]
    )


def remove_passkey(doors: Doors | None, command: RemovePasskey, asking: Asking) -> list[Event]:
    """Let it open nothing. Asking twice is harmless."""
    check_user(asking.by.actor, "remove a passkey")
    if command.credential not in (doors or Doors()).passkeys:
        return []
    return [PasskeyRemoved(command.credential)]


def check_user(actor: str, act: str) -> None:
    """Pass the user.

    Raises:
        Forbidden: it is somebody else.
    """
    if actor != OWNER:
        raise Forbidden(
            f"only the user can {act}",
            hint="Run it at a terminal, or open Devices in the web pages.",
        )


def _check_host(host: str, asking: Asking) -> None:
    check_user(asking.by.actor, "give a host a token")
    if not HOST_NAME.fullmatch(host):
        raise Invalid(
            f"{host!r} is not a host's name",
            hint="Use up to 64 letters, digits, dots, hyphens and underscores.",
        )


def _name(name: str) -> str:
    plain = " ".join(name.split())[:NAME_MAX]
    return plain or "a device"
