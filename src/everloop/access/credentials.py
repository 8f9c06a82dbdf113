"""Pairing codes, device credentials and host tokens, and how a device authenticates with them.

A credential is a device's id and a secret. The log stores only a digest of the secret, and the
comparison takes constant time.
"""

import base64
import hmac
from hashlib import sha256

import msgspec

from everloop.access.commands import MakeCode, PairDevice
from everloop.access.state import DOORS, HOST, STREAM, Device, Doors
from everloop.log import CommandBus, Context, Log
from everloop.ports import World

CODE_LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # without look-alikes
CODE_LENGTH = 10
SECRET_BYTES = 32


class Credential(msgspec.Struct, frozen=True):
    """A device's id and secret: shown once, never stored here."""

    device_id: str
    secret: str

    def __repr__(self) -> str:
        """The device id without the secret."""
        return f"Credential({self.device_id})"

    @property
    def text(self) -> str:
        """The credential as a cookie value."""
        return f"{self.device_id}.{self.secret}"


def new_code(log: Log, bus: CommandBus, world: World, by: Context, *, lives_s: int) -> str:
    """Make a pairing code for one device, for a person to type or scan.

    Access is a tree of its own: rewinding any other tree does not restore a revoked device.
    """
    log.plant(STREAM, actor=by.actor)
    drawn = world.entropy.draw(CODE_LENGTH)
    code = "".join(CODE_LETTERS[byte % len(CODE_LETTERS)] for byte in drawn)
    bus.do(MakeCode(digest(code), lives_s), by=by)
    return code


def pair(bus: CommandBus, world: World, name: str, *, way: str, via: str) -> Credential:
    """Pair a device and give it a credential.

    Raises:
        Forbidden: the code or passkey is not valid.
    """
    proof = digest(_normalise_code(via)) if way == "code" else via
    return _issue(bus, world, (name, way, proof), Context(actor="user"))


def give_token(log: Log, bus: CommandBus, world: World, host: str, by: Context) -> Credential:
    """Issue a token with which a program acts as a host, and as nobody else.

    Raises:
        Forbidden: the actor is not the user.
        Invalid: the host name is malformed.
    """
    log.plant(STREAM, actor=by.actor)
    return _issue(bus, world, (host, HOST, host), by)


def _issue(bus: CommandBus, world: World, how: tuple[str, str, str], by: Context) -> Credential:
    name, way, via = how
    secret = base64.urlsafe_b64encode(world.entropy.draw(SECRET_BYTES)).decode().rstrip("=")
    device_id = world.ids.new("dev")
    bus.do(PairDevice(device_id, name, digest(secret), way, via), by=by)
    return Credential(device_id, secret)


def device_of(log: Log, text: str, *, since_us: int = 0) -> Device | None:
    """Authenticate a device by its credential; None if it is wrong, revoked or too old."""
    device_id, _, secret = text.partition(".")
    device = doors(log).devices.get(device_id)
    expected = device.secret_digest if device else digest("nobody")
    same = hmac.compare_digest(digest(secret), expected)
    return device if device is not None and same and device.since_us >= since_us else None


def doors(log: Log) -> Doors:
    """The paired devices, passkeys and open codes."""
    return log.state(DOORS, STREAM) or Doors()


def digest(secret: str) -> str:
    """The digest of a secret, which the log stores in its place."""
    return sha256(secret.encode()).hexdigest()


def _normalise_code(code: str) -> str:
    """A typed code in its original form: without spaces and hyphens, in capitals."""
    return "".join(letter for letter in code.upper() if letter.isalnum())
