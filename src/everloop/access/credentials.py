"""Codes and credentials: what a device brings, and who it is then.

A credential is a device's id and a secret. The log has only a digest of the secret, and comparing
takes the same time whatever is wrong.
"""

import base64
import hmac
from hashlib import sha256
from typing import Protocol

import msgspec

from everloop.access.commands import MakeCode, PairDevice
from everloop.access.state import DOORS, HOST, STREAM, Device, Doors
from everloop.log import Command, Context, Log, Receipt
from everloop.ports import World

CODE_LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # none that looks like another
CODE_LENGTH = 10
SECRET_BYTES = 32


class Do(Protocol):
    """Carries out a command: an engine's `do`."""

    def __call__(self, command: Command, *, by: Context) -> Receipt:
        """Return when what it led to is durable."""
        ...


class Credential(msgspec.Struct, frozen=True):
    """What a device keeps: shown once, never stored here."""

    device_id: str
    secret: str

    def __repr__(self) -> str:
        """Its name alone."""
        return f"Credential({self.device_id})"

    @property
    def text(self) -> str:
        """As it stands in a cookie."""
        return f"{self.device_id}.{self.secret}"


def new_code(log: Log, do: Do, world: World, by: Context, *, lives_s: int) -> str:
    """A code that lets one device in, for a person to type or scan.

    Access is a tree of its own: going back in anything else lets no device in again.
    """
    log.plant(STREAM, actor=by.actor)
    drawn = world.entropy.draw(CODE_LENGTH)
    code = "".join(CODE_LETTERS[byte % len(CODE_LETTERS)] for byte in drawn)
    do(MakeCode(digest(code), lives_s), by=by)
    return code


def pair(do: Do, world: World, name: str, *, way: str, via: str) -> Credential:
    """Let a device in and give it what it needs to come back.

    Raises:
        Forbidden: what it brought does not open anything.
    """
    shown = digest(_plain(via)) if way == "code" else via
    return _let_in(do, world, (name, way, shown), Context(actor="user"))


def give_token(log: Log, do: Do, world: World, host: str, by: Context) -> Credential:
    """A token with which a program speaks as a host, and is let in nowhere else.

    Raises:
        Forbidden: somebody else than the user asks for it.
        Invalid: that is no host's name.
    """
    log.plant(STREAM, actor=by.actor)
    return _let_in(do, world, (host, HOST, host), by)


def _let_in(do: Do, world: World, how: tuple[str, str, str], by: Context) -> Credential:
    name, way, via = how
    secret = base64.urlsafe_b64encode(world.entropy.draw(SECRET_BYTES)).decode().rstrip("=")
    device_id = world.ids.new("dev")
    do(PairDevice(device_id, name, digest(secret), way, via), by=by)
    return Credential(device_id, secret)


def device_of(log: Log, text: str, *, since_us: int = 0) -> Device | None:
    """The device whose credential this is, if it is let in, and was not before a time."""
    device_id, _, secret = text.partition(".")
    device = doors(log).devices.get(device_id)
    expected = device.secret_digest if device else digest("nobody")
    same = hmac.compare_digest(digest(secret), expected)
    return device if device is not None and same and device.since_us >= since_us else None


def doors(log: Log) -> Doors:
    """Who is let in now."""
    return log.state(DOORS, STREAM) or Doors()


def digest(secret: str) -> str:
    """What the log has of a secret."""
    return sha256(secret.encode()).hexdigest()


def _plain(code: str) -> str:
    """A code as it was made: people type it with spaces, hyphens and small letters."""
    return "".join(letter for letter in code.upper() if letter.isalnum())
