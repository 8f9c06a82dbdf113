"""Pairing codes, device credentials and host tokens, and how a device authenticates with them.

A credential is a device's id and a secret. The log stores only a digest of the secret, and the
comparison takes constant time.
"""

import base64
import hmac
from hashlib import sha256

import msgspec

from everloop.access.commands import MakeCode, PairDevice
from everloop.access.state import ACCESS_FOLD, ACCESS_STREAM, HOST_TOKEN, AccessState, Device
from everloop.log import CommandBus, Context, Log
from everloop.ports import World

CODE_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # without look-alikes
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


def make_pairing_code(log: Log, bus: CommandBus, world: World, by: Context, *, lives_s: int) -> str:
    """Make a pairing code for one device, for a person to type or scan.

    Access is a tree of its own: rewinding any other tree does not restore a revoked device.
    """
    log.create_tree(ACCESS_STREAM, actor=by.actor)
    drawn = world.entropy.draw(CODE_LENGTH)
    code = "".join(CODE_ALPHABET[byte % len(CODE_ALPHABET)] for byte in drawn)
    bus.do(MakeCode(digest_secret(code), lives_s), by=by)
    return code


def pair(bus: CommandBus, world: World, name: str, *, way: str, via: str) -> Credential:
    """Pair a device and give it a credential.

    Raises:
        Forbidden: the code or passkey is not valid.
    """
    proof = digest_secret(_normalise_code(via)) if way == "code" else via
    return _issue(bus, world, (name, way, proof), Context(actor="user"))


def issue_host_token(log: Log, bus: CommandBus, world: World, host: str, by: Context) -> Credential:
    """Issue a token with which a program acts as a host, and as nobody else.

    Raises:
        Forbidden: the actor is not the user.
        Invalid: the host name is malformed.
    """
    log.create_tree(ACCESS_STREAM, actor=by.actor)
    return _issue(bus, world, (host, HOST_TOKEN, host), by)


def _issue(bus: CommandBus, world: World, how: tuple[str, str, str], by: Context) -> Credential:
    name, way, via = how
    secret = base64.urlsafe_b64encode(world.entropy.draw(SECRET_BYTES)).decode().rstrip("=")
    device_id = world.ids.new("dev")
    bus.do(PairDevice(device_id, name, digest_secret(secret), way, via), by=by)
    return Credential(device_id, secret)


def authenticate_device(log: Log, text: str, *, since_us: int = 0) -> Device | None:
    """Authenticate a device by its credential; None if it is wrong, revoked or too old."""
    device_id, _, secret = text.partition(".")
    device = load_access(log).devices.get(device_id)
    expected = device.secret_digest if device else digest_secret("nobody")
    same = hmac.compare_digest(digest_secret(secret), expected)
    return device if device is not None and same and device.since_us >= since_us else None


def load_access(log: Log) -> AccessState:
    """The paired devices, passkeys and open codes."""
    return log.state(ACCESS_FOLD, ACCESS_STREAM) or AccessState()


def digest_secret(secret: str) -> str:
    """The digest of a secret, which the log stores in its place."""
    return sha256(secret.encode()).hexdigest()


def _normalise_code(code: str) -> str:
    """A typed code in its original form: without spaces and hyphens, in capitals."""
    return "".join(letter for letter in code.upper() if letter.isalnum())
