"""Routes for signing in and out: pairing by code, devices, tokens for hosts."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from everloop.access import credentials
from everloop.access.commands import RenameDevice, RevokeDevice
from everloop.access.state import Device
from everloop.errors import NotFound
from everloop.interfaces.http.dependencies import DAY_S, ActorDep, Dependencies, Deps, DeviceDep
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.log.model.record import from_microseconds

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["access"])


class DeviceOut(BaseModel):
    """A paired device, or a host's token."""

    device_id: str
    name: str
    way: str
    since: datetime
    this: bool
    host: str  # of a token: the host that uses it
    expired: bool  # it was paired too long ago and must pair again


class Knock(BaseModel):
    """A pairing code, and a name for the device."""

    code: Annotated[str, Field(min_length=4, max_length=64)]
    name: Annotated[str, Field(max_length=200)] = ""


class CodeOut(BaseModel):
    """A pairing code for another device, and the path to open there."""

    code: str
    path: str
    lives_s: int


class HostName(BaseModel):
    """The host to make a token for."""

    host: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][\w.-]*$")]


class TokenOut(BaseModel):
    """A new token for a host, shown only once. It is valid for `/mcp` only."""

    device_id: str
    host: str
    token: str


class Renamed(BaseModel):
    """A new name for a device."""

    name: Annotated[str, Field(min_length=1, max_length=200)]


@router.post("/session")
def pair(knock: Knock, request: Request, response: Response, deps: Deps) -> DeviceOut:
    """Pair this device with a one-time code. Its credential is set as a cookie."""
    deps.sign_in_limit.count(request)
    name = knock.name or guess_device_name(request.headers.get("user-agent", ""))
    engine = deps.engine
    credential = credentials.pair(engine, engine.world, name, way="code", via=knock.code)
    set_credential_cookie(response, deps, credential)
    paired = credentials.load_access(engine.log).devices[credential.device_id]
    return device_out(paired, credential.device_id, deps)


@router.get("/session")
def who(device: DeviceDep, deps: Deps) -> DeviceOut:
    """The device that sends this request."""
    return device_out(device, device.device_id, deps)


@router.delete("/session", status_code=204)
def leave(response: Response, deps: Deps, device: DeviceDep, by: ActorDep) -> None:
    """Sign this device out."""
    deps.engine.do(RevokeDevice(device.device_id), by=by)
    response.delete_cookie(deps.rules.cookie_name, path="/")


@router.get("/devices")
def devices(deps: Deps, device: DeviceDep) -> list[DeviceOut]:
    """List paired devices and tokens, newest first."""
    paired = credentials.load_access(deps.engine.log).devices.values()
    newest = sorted(paired, key=lambda one: -one.position)
    return [device_out(one, device.device_id, deps) for one in newest]


@router.post("/devices/code")
def code(deps: Deps, by: ActorDep) -> CodeOut:
    """Make a pairing code for another device, valid once and for `lives_s` seconds."""
    engine, lives_s = deps.engine, deps.running.settings.serve.code_lives_s
    made = credentials.make_pairing_code(engine.log, engine, engine.world, by, lives_s=lives_s)
    return CodeOut(code=made, path=f"/#pair={made}", lives_s=lives_s)


@router.post("/devices/token", status_code=201)
def token(named: HostName, deps: Deps, by: ActorDep) -> TokenOut:
    """Make a token with which a program uses MCP as this host, never as the user."""
    engine = deps.engine
    given = credentials.issue_host_token(engine.log, engine, engine.world, named.host, by)
    return TokenOut(device_id=given.device_id, host=named.host, token=given.text)


@router.put("/devices/{device_id}")
def rename(
    device_id: str, renamed: Renamed, deps: Deps, device: DeviceDep, by: ActorDep
) -> DeviceOut:
    """Rename a device."""
    deps.engine.do(RenameDevice(device_id, renamed.name), by=by)
    found = credentials.load_access(deps.engine.log).devices.get(device_id)
    if found is None:
        raise NotFound(f"no device {device_id!r}", hint="It was just revoked.")
    return device_out(found, device.device_id, deps)


@router.delete("/devices/{device_id}", status_code=204)
def revoke(device_id: str, deps: Deps, by: ActorDep) -> None:
    """Revoke a device or token. Its open streams end within a second."""
    deps.engine.do(RevokeDevice(device_id), by=by)


def set_credential_cookie(
    response: Response, deps: Dependencies, credential: credentials.Credential
) -> None:
    """Set a device's credential as a cookie that scripts cannot read."""
    response.set_cookie(
        deps.rules.cookie_name,
        credential.text,
        max_age=deps.running.settings.serve.device_lives_days * DAY_S,
        path="/",
        secure=deps.rules.secure,
        httponly=True,
        samesite="strict",
    )


def device_out(device: Device, here: str, deps: Dependencies) -> DeviceOut:
    """A device as a response body; `here` is the id of the requesting device."""
    return DeviceOut(
        device_id=device.device_id,
        name=device.name,
        way=device.way,
        since=from_microseconds(device.since_us),
        this=device.device_id == here,
        host=device.host,
        expired=device.since_us < deps.oldest_valid_pairing_us,
    )


def guess_device_name(agent: str) -> str:
    """A default device name from the User-Agent header."""
    system = next(
        (name for sign, name in _SYSTEMS if sign in agent),
        "a device",
    )
    browser = next((name for sign, name in _BROWSERS if sign in agent), "")
    return f"{browser} on {system}" if browser else system


_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Mac OS", "Mac"),
    ("Windows", "Windows"),
    ("Linux", "Linux"),
)
_BROWSERS = (
    ("Edg/", "Edge"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
