"""Events of the access domain. They contain digests of secrets, never secrets."""

from typing import Any

from everloop.log import Event, event, upcast


@event("access.code_made")
class CodeMade(Event, frozen=True):
    """A pairing code was made. It works once, until it expires."""

    code_digest: str
    expires_us: int


@event("access.device_paired", schema=2)
class DevicePaired(Event, frozen=True):
    """A device was paired: by a code, by a passkey, or by a proxy that authenticated the person.

    `via` is the digest of the code, the id of the passkey, or the proxy's name for the person. With
    the way `host` it is a token for a program: `via` is the host that it acts as. `paired_us` is
    what the clock said, which may be earlier than the record's time; 0 if it was not recorded.
    """

    device_id: str
    name: str
    secret_digest: str
    way: str  # code, passkey, proxy or host
    via: str
    paired_us: int


@upcast("access.device_paired", from_schema=1)
def _without_clock(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "paired_us": 0}


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


@event("access.model_service_allowed")
class ModelServiceAllowed(Event, frozen=True):
    """The user allowed a model service that was found on this machine to be sent prompts."""

    service: str
    address: str


@event("access.model_service_withdrawn")
class ModelServiceWithdrawn(Event, frozen=True):
    """The user no longer allows a model service."""

    service: str


AccessEvent = (
    CodeMade
    | DevicePaired
    | DeviceRenamed
    | DeviceRevoked
    | PasskeyAdded
    | PasskeyUsed
    | PasskeyRemoved
    | ModelServiceAllowed
    | ModelServiceWithdrawn
)
