"""What can be asked about access."""

from everloop.log import Command


class MakeCode(Command, frozen=True):
    """Make a code that lets one device in."""

    code_digest: str
    lives_s: int = 600


class PairDevice(Command, frozen=True):
    """Let a device in, by a `code` that holds, or a program in the name of a `host`."""

    device_id: str
    name: str
    secret_digest: str
    way: str
    via: str


class RenameDevice(Command, frozen=True):
    """Call a device something else."""

    device_id: str
    name: str


class RevokeDevice(Command, frozen=True):
    """Let a device in no more."""

    device_id: str


class AddPasskey(Command, frozen=True):
    """Take in a key that a device of the person keeps."""

    credential: str
    public_key: str
    sign_count: int
    name: str
    site: str


class UsePasskey(Command, frozen=True):
    """Note that it signed."""

    credential: str
    sign_count: int


class RemovePasskey(Command, frozen=True):
    """Let it open nothing any more."""

    credential: str
