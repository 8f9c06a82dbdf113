"""Access: device pairing, host tokens and passkeys. Which devices may act as the user."""

from typing import TYPE_CHECKING

from everloop.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from everloop.access.commands import (
        AddPasskey,
        RemovePasskey,
        RenameDevice,
        RevokeDevice,
        UsePasskey,
    )
    from everloop.access.decide import HOST_NAME_PATTERN, require_user
    from everloop.access.events import DeviceRevoked
    from everloop.access.model_services import (
        allow_model_service,
        allowed_model_services,
        withdraw_model_service,
    )
    from everloop.access.pairing import (
        Credential,
        authenticate_device,
        authenticate_ticket,
        issue_host_token,
        issue_ticket,
        load_access,
        make_pairing_code,
        pair_device,
    )
    from everloop.access.state import ACCESS_STREAM, Device, Passkey

__all__ = [
    "ACCESS_STREAM",
    "HOST_NAME_PATTERN",
    "AddPasskey",
    "Credential",
    "Device",
    "DeviceRevoked",
    "Passkey",
    "RemovePasskey",
    "RenameDevice",
    "RevokeDevice",
    "UsePasskey",
    "allow_model_service",
    "allowed_model_services",
    "authenticate_device",
    "authenticate_ticket",
    "issue_host_token",
    "issue_ticket",
    "load_access",
    "make_pairing_code",
    "pair_device",
    "require_user",
    "withdraw_model_service",
]

__getattr__ = lazy_exports(__name__, __file__)
