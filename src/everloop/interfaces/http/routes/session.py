"""Coming in and going out: pairing by a code, devices, and what this device is."""

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
    """A device that is let in."""

    device_id: str
    name: str
    way: str
    since: datetime
    this: bool
    host: str  # for a token: the host that speaks with it
    expired: bool  # it was let in too long ago, and must be paired anew


class Knock(BaseModel):
    """A code, and what the device is to be called."""

    code: Annotated[str, Field(min_length=4, max_length=64)]
    name: Annotated[str, Field(max_length=200)] = ""


class CodeOut(BaseModel):
    """A code for another device, and the address to open there."""

    code: str
    path: str
    lives_s: int


class HostName(BaseModel):
    """The host that a token is for."""

    host: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][\w.-]*$")]


class TokenOut(BaseModel):
    """A token for a host, shown this once. It opens `/mcp` and nothing else."""

    device_id: str
    host: str
    token: str


class Renamed(BaseModel):
    """What a device is called from now on."""

    name: Annotated[str, Field(min_length=1, max_length=200)]


@router.post("/session")
def pair(knock: Knock, request: Request, response: Response, house: HouseDep) -> DeviceOut:
    """Let this device in with a one-time code. What it needs to come back is in a cookie."""
    house.knocks.count(request)
    name = knock.name or guess(request.headers.get("user-agent", ""))
    engine = house.engine
    credential = credentials.pair(engine.do, engine.world, name, way="code", via=knock.code)
    keep(response, house, credential)
    paired = credentials.doors(engine.log).devices[credential.device_id]
    return shown(paired, credential.device_id, house)


@router.get("/session")
def who(device: DeviceDep, house: HouseDep) -> DeviceOut:
    """The device that asks."""
    return shown(device, device.device_id, house)


@router.delete("/session", status_code=204)
def leave(response: Response, house: HouseDep, device: DeviceDep, by: SpeakerDep) -> None:
    """Sign this device out."""
    house.engine.do(RevokeDevice(device.device_id), by=by)
    response.delete_cookie(house.rules.cookie, path="/")


@router.get("/devices")
def devices(house: HouseDep, device: DeviceDep) -> list[DeviceOut]:
    """Every device that is let in, the newest first."""
    known = credentials.doors(house.engine.log).devices.values()
    newest = sorted(known, key=lambda one: -one.position)
    return [shown(one, device.device_id, house) for one in newest]


@router.post("/devices/code")
def code(house: HouseDep, by: SpeakerDep) -> CodeOut:
    """A code that lets another device in, once, within `lives_s` seconds."""
    engine, lives_s = house.engine, house.running.settings.serve.code_lives_s
    made = credentials.new_code(engine.log, engine.do, engine.world, by, lives_s=lives_s)
    return CodeOut(code=made, path=f"/#pair={made}", lives_s=lives_s)


@router.post("/devices/token", status_code=201)
def token(named: HostName, house: HouseDep, by: SpeakerDep) -> TokenOut:
    """A token with which a program speaks over MCP as this host, never as you."""
    engine = house.engine
    given = credentials.give_token(engine.log, engine.do, engine.world, named.host, by)
    return TokenOut(device_id=given.device_id, host=named.host, token=given.text)


@router.put("/devices/{device_id}")
def rename(
    device_id: str, renamed: Renamed, house: HouseDep, device: DeviceDep, by: SpeakerDep
) -> DeviceOut:
    """Call a device something else."""
    house.engine.do(RenameDevice(device_id, renamed.name), by=by)
    known = credentials.doors(house.engine.log).devices.get(device_id)
    if known is None:
        raise NotFound(f"no device {device_id!r}", hint="It was revoked just now.")
    return shown(known, device.device_id, house)


@router.delete("/devices/{device_id}", status_code=204)
def revoke(device_id: str, house: HouseDep, by: SpeakerDep) -> None:
    """Let a device in no more. Its open streams end within a second."""
    house.engine.do(RevokeDevice(device_id), by=by)


def keep(response: Response, house: House, credential: credentials.Credential) -> None:
    """Give a device its credential, where no script can read it."""
    response.set_cookie(
        house.rules.cookie,
        credential.text,
        max_age=house.running.settings.serve.device_lives_days * DAY_S,
        path="/",
        secure=house.rules.secure,
        httponly=True,
        samesite="strict",
    )


def shown(device: Device, here: str, house: House) -> DeviceOut:
    """A device, seen from the one that asks."""
    return DeviceOut(
        device_id=device.device_id,
        name=device.name,
        way=device.way,
        since=moment(device.since_us),
        this=device.device_id == here,
        host=device.host,
        expired=device.since_us < house.paired_since_us,
    )


def guess(agent: str) -> str:
    """A name for a device that has none, from what its browser says."""
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
