"""What can happen to access. Secrets are never here: only digests of them."""

from everloop.log import Event, event


@event("access.code_made")
class CodeMade(Event, frozen=True):
    """A code that lets one device in, once, until a time."""

    code_digest: str
    expires_us: int


@event("access.device_paired")
class DevicePaired(Event, frozen=True):
    """A device was let in: by a code, by a passkey, or by a proxy that vouches for the person.

    `via` is the digest of the code, the id of the passkey, or the proxy's name for the person. With
    the way `host` it is no device but a token: `via` is the host that it speaks for.
    """

    device_id: str
    name: str
    secret_digest: str
    way: str  # code, passkey, proxy or host
    via: str


@event("access.device_renamed")
class DeviceRenamed(Event, frozen=True):
    """It is called something else."""

    device_id: str
    name: str


@event("access.device_revoked")
class DeviceRevoked(Event, frozen=True):
    """It is not let in any more."""

    device_id: str


@event("access.passkey_added")
class PasskeyAdded(Event, frozen=True):
    """A key that a device of the person keeps. `credential` and `public_key` are base64url."""

    credential: str
    public_key: str
    sign_count: int
    name: str
    site: str


@event("access.passkey_used")
class PasskeyUsed(Event, frozen=True):
    """It signed; its counter went on."""

    credential: str
    sign_count: int


@event("access.passkey_removed")
class PasskeyRemoved(Event, frozen=True):
    """It opens nothing any more."""

    credential: str


AccessEvent = (
    CodeMade
    | DevicePaired
    | DeviceRenamed
    | DeviceRevoked
    | PasskeyAdded
    | PasskeyUsed
    | PasskeyRemoved
)
