"""Events of the access domain. They contain digests of secrets, never secrets."""

from everloop.log import Event, event


@event("access.code_made")
class CodeMade(Event, frozen=True):
    """A pairing code was made. It works once, until it expires."""

    code_digest: str
    expires_us: int


@event("access.device_paired")
class DevicePaired(Event, frozen=True):
    """A device was paired: by a code, by a passkey, or by a proxy that authenticated the person.

    `via` is the digest of the code, the id of the passkey, or the proxy's name for the person. With
    the way `host` it is a token for a program: `via` is the host that it acts as.
    """

    device_id: str
    name: str
    secret_digest: str
    way: str  # code, passkey, proxy or host
    via: str


@event("access.device_renamed")
class DeviceRenamed(Event, frozen=True):
    """A device was renamed."""

    device_id: str
    name: str


@event("access.device_revoked")
class DeviceRevoked(Event, frozen=True):
    """A device's access was revoked."""

    device_id: str


@event("access.passkey_added")
class PasskeyAdded(Event, frozen=True):
    """A passkey was registered. `credential` and `public_key` are base64url."""

    credential: str
    public_key: str
    sign_count: int
    name: str
    site: str


@event("access.passkey_used")
class PasskeyUsed(Event, frozen=True):
    """A passkey was used to sign in; its counter increased."""

    credential: str
    sign_count: int


@event("access.passkey_removed")
class PasskeyRemoved(Event, frozen=True):
    """A passkey was removed."""

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
