"""The decider table of access: for each command its stream, fold and decision function."""

from typing import Any

from everloop.access import commands as c
from everloop.access import decide as d
from everloop.access.state import ACCESS_FOLD, ACCESS_STREAM
from everloop.log import Command, Decider


def _stream(_: Command) -> str:
    return ACCESS_STREAM


ACCESS_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(c.MakeCode, _stream, ACCESS_FOLD, d.make_code),
    Decider(c.PairDevice, _stream, ACCESS_FOLD, d.pair_device),
    Decider(c.RenameDevice, _stream, ACCESS_FOLD, d.rename_device),
    Decider(c.RevokeDevice, _stream, ACCESS_FOLD, d.revoke_device),
    Decider(c.AddPasskey, _stream, ACCESS_FOLD, d.add_passkey),
    Decider(c.UsePasskey, _stream, ACCESS_FOLD, d.use_passkey),
    Decider(c.RemovePasskey, _stream, ACCESS_FOLD, d.remove_passkey),
    Decider(c.AllowModelService, _stream, ACCESS_FOLD, d.allow_model_service),
    Decider(c.WithdrawModelService, _stream, ACCESS_FOLD, d.withdraw_model_service),
)
