"""The decider table of access: for each command its stream, fold and decision function."""

from typing import Any

from everloop.access import commands as c
from everloop.access import decide as d
from everloop.access.state import DOORS, STREAM
from everloop.log import Command, Decider


def _stream(_: Command) -> str:
    return STREAM


ACCESS_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(c.MakeCode, _stream, DOORS, d.make_code),
    Decider(c.PairDevice, _stream, DOORS, d.pair_device),
    Decider(c.RenameDevice, _stream, DOORS, d.rename_device),
    Decider(c.RevokeDevice, _stream, DOORS, d.revoke_device),
    Decider(c.AddPasskey, _stream, DOORS, d.add_passkey),
    Decider(c.UsePasskey, _stream, DOORS, d.use_passkey),
    Decider(c.RemovePasskey, _stream, DOORS, d.remove_passkey),
)
