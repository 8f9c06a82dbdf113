"""State of the access domain: devices, passkeys, open codes, allowed model services. Pure."""

import msgspec

from everloop.access.events import (
    CodeMade,
    DevicePaired,
    DeviceRenamed,
    DeviceRevoked,
    ModelServiceAllowed,
    ModelServiceWithdrawn,
    PasskeyAdded,
    PasskeyRemoved,
    PasskeyUsed,
)
from everloop.log import Fact, Fold

ACCESS_STREAM = "access"
HOST_TOKEN = "host"  # noqa: S105 - how a host signs in, not a secret


class Device(msgspec.Struct, frozen=True):
    """A paired device. One with a `host` acts as that host, never as the user."""

    device_id: str
    name: str
    secret_digest: str
    way: str
    position: int
    since_us: int
    host: str = ""


class Passkey(msgspec.Struct, frozen=True):
    """A registered passkey."""

    credential: str
    public_key: str
    sign_count: int
    name: str
    site: str
    position: int
    since_us: int


class AccessState(msgspec.Struct, frozen=True):
    """The paired devices, the passkeys, the codes that have not expired, and model services."""

    codes: dict[str, int] = {}  # digest: expiry in microseconds
    devices: dict[str, Device] = {}
    passkeys: dict[str, Passkey] = {}
    model_services: dict[str, str] = {}  # service: its address, or empty


def evolve(known: AccessState | None, fact: Fact) -> AccessState:
    """The state after a fact."""
    doors = known or AccessState()
    changes = (
        _code_changes(doors, fact)
        or _device_changes(doors, fact)
        or _key_changes(doors, fact)
        or _model_changes(doors, fact)
    )
    return msgspec.structs.replace(doors, **changes)


def _code_changes(doors: AccessState, fact: Fact) -> dict[str, object]:
    match fact.event:
        case CodeMade(code_digest=digest, expires_us=expires_us):
            held = {key: until for key, until in doors.codes.items() if until > fact.recorded_us}
            return {"codes": {**held, digest: expires_us}}
        case _:
            return {}


def _device_changes(doors: AccessState, fact: Fact) -> dict[str, object]:
    devices = doors.devices
    match fact.event:
        case DevicePaired(device_id=device_id, name=name, way=way, via=via) as paired:
            host = via if way == HOST_TOKEN else ""
            since_us = paired.paired_us or fact.recorded_us
            digest = paired.secret_digest
            new = Device(device_id, name, digest, way, fact.position, since_us, host)
            codes = {key: until for key, until in doors.codes.items() if key != via}
            return {"devices": {**devices, device_id: new}, "codes": codes}
        case DeviceRenamed(device_id=device_id, name=name) if device_id in devices:
            renamed = msgspec.structs.replace(devices[device_id], name=name)
            return {"devices": {**devices, device_id: renamed}}
        case DeviceRevoked(device_id=device_id):
            return {"devices": {key: one for key, one in devices.items() if key != device_id}}
        case _:
            return {}


def _key_changes(doors: AccessState, fact: Fact) -> dict[str, object]:
    keys = doors.passkeys
    match fact.event:
        case PasskeyAdded() as added:
            new = Passkey(
                added.credential,
                added.public_key,
                added.sign_count,
                added.name,
                added.site,
                fact.position,
                fact.recorded_us,
            )
            return {"passkeys": {**keys, added.credential: new}}
        case PasskeyUsed(credential=credential, sign_count=count) if credential in keys:
            used = msgspec.structs.replace(keys[credential], sign_count=count)
            return {"passkeys": {**keys, credential: used}}
        case PasskeyRemoved(credential=credential):
            return {"passkeys": {key: one for key, one in keys.items() if key != credential}}
        case _:
            return {}


def _model_changes(doors: AccessState, fact: Fact) -> dict[str, object]:
    services = doors.model_services
    match fact.event:
        case ModelServiceAllowed(service=service, address=address):
            return {"model_services": {**services, service: address}}
        case ModelServiceWithdrawn(service=service):
            return {"model_services": {key: at for key, at in services.items() if key != service}}
        case _:
            return {}


ACCESS_FOLD = Fold("access.doors", AccessState, evolve, version=3)
