"""Commands of the access domain."""

from everloop.log import Command


class MakeCode(Command, frozen=True):
    """Make a one-time pairing code."""

    code_digest: str
    lives_s: int = 600


class PairDevice(Command, frozen=True):
    """Pair a device by a `code`, a `passkey` or a `proxy`, or give a `host` program a token."""

    device_id: str
    name: str
    secret_digest: str
    way: str
    via: str


class RenameDevice(Command, frozen=True):
    """Rename a device."""

    device_id: str
    name: str


class RevokeDevice(Command, frozen=True):
    """Revoke a device's access."""

    device_id: str


class AddPasskey(Command, frozen=True):
    """Register a passkey (WebAuthn credential)."""

    credential: str
    public_key: str
    sign_count: int
    name: str
    site: str


class UsePasskey(Command, frozen=True):
    """Record a sign-in with a passkey."""

    credential: str
    sign_count: int


class RemovePasskey(Command, frozen=True):
    """Remove a passkey."""

    credential: str


class AllowModelService(Command, frozen=True):
    """Allow a model service at an address to be sent prompts, which contain memories."""

    service: str
    address: str


class WithdrawModelService(Command, frozen=True):
    """Do not use a model service any more."""

    service: str
