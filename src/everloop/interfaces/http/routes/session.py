"""Routes for signing in and out: pairing by code, devices, tokens for hosts."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from everloop.access import credentials
from everloop.access.commands import RenameDevice, RevokeDevice
from everloop.access.state import Device
from everloop.errors import NotFound
from everloop.interfaces.http.dependencies import DAY_S, DeviceDep, House, HouseDep, SpeakerDep
from everloop.interfaces.http.errors import PROBLEMS
from everloop.log.model.record import moment

router = APIRouter(prefix="/api", responses=PROBLEMS, tags=["access"])


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
def pair(knock: Knock, request: Request, response: Response, deps: HouseDep) -> DeviceOut:
    """Pair this device with a one-time code. Its credential is set as a cookie."""
    deps.knocks.count(request)
    name = knock.name or guess(request.headers.get("user-agent", ""))
    engine = deps.engine
    credential = credentials.pair(engine, engine.world, name, way="code", via=knock.code)
    keep(response, deps, credential)
    paired = credentials.doors(engine.log).devices[credential.device_id]
    return shown(paired, credential.device_id, deps)


@router.get("/session")
def who(device: DeviceDep, deps: HouseDep) -> DeviceOut:
    """The device that sends this request."""
    return shown(device, device.device_id, deps)


@router.delete("/session", status_code=204)
def leave(response: Response, deps: HouseDep, device: DeviceDep, by: SpeakerDep) -> None:
    """Sign this device out."""
    deps.engine.do(RevokeDevice(device.device_id), by=by)
    response.delete_cookie(deps.rules.cookie, path="/")


@router.get("/devices")
def devices(deps: HouseDep, device: DeviceDep) -> list[DeviceOut]:
    """List paired devices and tokens, newest first."""
    paired = credentials.doors(deps.engine.log).devices.values()
    newest = sorted(paired, key=lambda one: -one.position)
    return [shown(one, device.device_id, deps) for one in newest]


@router.post("/devices/code")
def code(deps: HouseDep, by: SpeakerDep) -> CodeOut:
    """Make a pairing code for another device, valid once and for `lives_s` seconds."""
    engine, lives_s = deps.engine, deps.running.settings.serve.code_lives_s
    made = credentials.new_code(engine.log, engine, engine.world, by, lives_s=lives_s)
    return CodeOut(code=made, path=f"/#pair={made}", lives_s=lives_s)


@router.post("/devices/token", status_code=201)
def token(named: HostName, deps: HouseDep, by: SpeakerDep) -> TokenOut:
    """Make a token with which a program uses MCP as this host, never as the user."""
    engine = deps.engine
    given = credentials.give_token(engine.log, engine, engine.world, named.host, by)
    return TokenOut(device_id=given.device_id, host=named.host, token=given.text)


@router.put("/devices/{device_id}")
def rename(
    device_id: str, renamed: Renamed, deps: HouseDep, device: DeviceDep, by: SpeakerDep
) -> DeviceOut:
    """Rename a device."""
    deps.engine.do(RenameDevice(device_id, renamed.name), by=by)
    found = credentials.doors(deps.engine.log).devices.get(device_id)
    if found is None:
        raise NotFound(f"no device {device_id!r}", hint="It was just revoked.")
    return shown(found, device.device_id, deps)


@router.delete("/devices/{device_id}", status_code=204)
def revoke(device_id: str, deps: HouseDep, by: SpeakerDep) -> None:
    """Revoke a device or token. Its open streams end within a second."""
    deps.engine.do(RevokeDevice(device_id), by=by)


def keep(response: Response, deps: House, credential: credentials.Credential) -> None:
    """Set a device's credential as a cookie that scripts cannot read."""
    response.set_cookie(
        deps.rules.cookie,
        credential.text,
        max_age=deps.running.settings.serve.device_lives_days * DAY_S,
        path="/",
        secure=deps.rules.secure,
        httponly=True,
        samesite="strict",
    )


def shown(device: Device, here: str, deps: House) -> DeviceOut:
    """A device as a response body; `here` is the id of the requesting device."""
    return DeviceOut(
        device_id=device.device_id,
        name=device.name,
        way=device.way,
        since=moment(device.since_us),
        this=device.device_id == here,
        host=device.host,
        expired=device.since_us < deps.paired_since_us,
    )


def guess(agent: str) -> str:
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
