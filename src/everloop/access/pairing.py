"""Pairing codes, device credentials and host tokens, and how a device authenticates with them.

A credential is a device's id and a secret. The log stores only a digest of the secret, and the
comparison takes constant time.

A browser keeps the secret in two halves, in two places: a cookie, which no script can read but
which goes to every port of a host name, and the storage of the page's origin, which no other port
can read. Only both together authenticate a device. Links that cannot carry the second half, such
as those of pictures, carry a ticket that the server made of it.
"""

import base64
import hmac
from hashlib import sha256

import msgspec

from everloop.access.commands import MakeCode, PairDevice
from everloop.access.state import ACCESS_FOLD, ACCESS_STREAM, HOST_TOKEN, AccessState, Device
from everloop.log import CommandBus, Context, Log
from everloop.ports import SystemPorts

CODE_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # without look-alikes
CODE_LENGTH = 10
SECRET_BYTES = 32
BOUND = "everloop device\n"  # marks digests of secrets that were never in a cookie as a whole
DAY_US = 86_400_000_000
TICKET_DAYS = 2  # the day of issue and the next


class Credential(msgspec.Struct, frozen=True):
    """A device's id and secret: shown once, never stored here."""

    device_id: str
    secret: str

    def __repr__(self) -> str:
        """The device id without the secret."""
        return f"Credential({self.device_id})"

    @property
    def text(self) -> str:
        """The whole credential, as a program sends it."""
        return f"{self.device_id}.{self.secret}"

    @property
    def cookie(self) -> str:
        """The half that a browser keeps in a cookie."""
        return f"{self.device_id}.{self.secret[: len(self.secret) // 2]}"

    @property
    def key(self) -> str:
        """The half that a page keeps in the storage of its origin."""
        return self.secret[len(self.secret) // 2 :]


def make_pairing_code(
    log: Log, bus: CommandBus, ports: SystemPorts, by: Context, *, lives_s: int
) -> str:
    """Make a pairing code for one device, for a person to type or scan.

    Access is a tree of its own: rewinding any other tree does not restore a revoked device.
    """
    log.create_tree(ACCESS_STREAM, actor=by.actor)
    drawn = ports.entropy.draw(CODE_LENGTH)
    code = "".join(CODE_ALPHABET[byte % len(CODE_ALPHABET)] for byte in drawn)
    bus.do(MakeCode(digest_secret(code), lives_s), by=by)
    return code


def pair_device(
    bus: CommandBus, ports: SystemPorts, name: str, *, way: str, via: str
) -> Credential:
    """Pair a device and give it a credential.

    Raises:
        Forbidden: the code or passkey is not valid.
    """
    proof = digest_secret(_normalise_code(via)) if way == "code" else via
    return _issue(bus, ports, (name, way, proof), Context(actor="user"))


def issue_host_token(
    log: Log, bus: CommandBus, ports: SystemPorts, host: str, by: Context
) -> Credential:
    """Issue a token with which a program acts as a host, and as nobody else.

    Raises:
        Forbidden: the actor is not the user.
        Invalid: the host name is malformed.
    """
    log.create_tree(ACCESS_STREAM, actor=by.actor)
    return _issue(bus, ports, (host, HOST_TOKEN, host), by)


def _issue(
    bus: CommandBus, ports: SystemPorts, how: tuple[str, str, str], by: Context
) -> Credential:
    name, way, via = how
    secret = base64.urlsafe_b64encode(ports.entropy.draw(SECRET_BYTES)).decode().rstrip("=")
    device_id = ports.ids.new("dev")
    bus.do(PairDevice(device_id, name, _digest(secret, way), way, via), by=by)
    return Credential(device_id, secret)


def authenticate_device(log: Log, text: str, *, since_us: int = 0) -> Device | None:
    """Authenticate a device by its credential; None if it is wrong, revoked or too old."""
    device_id, _, secret = text.partition(".")
    device = load_access(log).devices.get(device_id)
    expected = device.secret_digest if device else digest_secret("nobody")
    same = hmac.compare_digest(_digest(secret, device.way if device else ""), expected)
    return device if device is not None and same and device.since_us >= since_us else None


def issue_ticket(device: Device, cookie: str, now_us: int) -> str:
    """A ticket for links of a browser that has this cookie; valid today and tomorrow."""
    return _ticket(device, cookie, now_us // DAY_US)


def authenticate_ticket(log: Log, cookie: str, ticket: str, now_us: int) -> Device | None:
    """Authenticate a device by its cookie and a ticket; None if they do not belong together."""
    device = load_access(log).devices.get(cookie.partition(".")[0])
    if device is None:
        return None
    today = now_us // DAY_US
    made = [_ticket(device, cookie, today - age) for age in range(TICKET_DAYS)]
    matches = [hmac.compare_digest(one.encode(), ticket.encode()) for one in made]
    return device if any(matches) else None


def _ticket(device: Device, cookie: str, day: int) -> str:
    signed = hmac.new(device.secret_digest.encode(), f"{day} {cookie}".encode(), sha256)
    return base64.urlsafe_b64encode(signed.digest()).decode().rstrip("=")


def _digest(secret: str, way: str) -> str:
    """The digest of a device's secret. A host's token was never in a cookie, and stays valid."""
    return digest_secret(secret if way == HOST_TOKEN else f"{BOUND}{secret}")


def load_access(log: Log) -> AccessState:
    """The paired devices, passkeys and open codes."""
    return log.state(ACCESS_FOLD, ACCESS_STREAM) or AccessState()


def digest_secret(secret: str) -> str:
    """The digest of a secret, which the log stores in its place."""
    return sha256(secret.encode()).hexdigest()


def _normalise_code(code: str) -> str:
    """A typed code in its original form: without spaces and hyphens, in capitals."""
    return "".join(letter for letter in code.upper() if letter.isalnum())
