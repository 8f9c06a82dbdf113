"""Routes for signing in and out: pairing by code, devices, tokens for hosts."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from everloop.access import (
    Credential,
    Device,
    RenameDevice,
    RevokeDevice,
    issue_host_token,
    load_access,
    make_pairing_code,
    pair_device,
)
from everloop.errors import NotFound
from everloop.interfaces.http.dependencies import DAY_S, ActorDep, Dependencies, Deps, DeviceDep
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.log import from_microseconds

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


class SessionOut(DeviceOut):
    """The device that sends a request, and a ticket for its links.

    Add the ticket to the addresses of files and exports as `ticket=…`, where no header can be
    sent. It is valid for a day or two, together with the cookie.
    """

    ticket: str


class SignedIn(SessionOut):
    """A device that was just paired, with its half of the secret.

    The other half is set as a cookie. Send this one as the header `X-Everloop-Key` with every
    request. A program may send both together, as `Authorization: Bearer COOKIE+KEY`.
    """

    key: str


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
def pair(knock: Knock, request: Request, response: Response, deps: Deps) -> SignedIn:
    """Pair this device with a one-time code. Half of its credential is set as a cookie."""
    deps.sign_in_limit.count(request)
    name = knock.name or guess_device_name(request.headers.get("user-agent", ""))
    engine = deps.engine
    credential = pair_device(engine, engine.ports, name, way="code", via=knock.code)
    return signed_in(response, deps, credential)


@router.get("/session")
def who(request: Request, device: DeviceDep, deps: Deps) -> SessionOut:
    """The device that sends this request, and a ticket for its links."""
    ticket = deps.ticket(device, request.scope["state"].get("cookie", ""))
    return SessionOut(**device_out(device, device.device_id, deps).model_dump(), ticket=ticket)


@router.delete("/session", status_code=204)
def leave(response: Response, deps: Deps, device: DeviceDep, by: ActorDep) -> None:
    """Sign this device out."""
    deps.engine.do(RevokeDevice(device.device_id), by=by)
    response.delete_cookie(deps.rules.cookie_name, path="/")


@router.get("/devices")
def devices(deps: Deps, device: DeviceDep) -> list[DeviceOut]:
    """List paired devices and tokens, newest first."""
    paired = load_access(deps.engine.log).devices.values()
    newest = sorted(paired, key=lambda one: -one.position)
    return [device_out(one, device.device_id, deps) for one in newest]


@router.post("/devices/code")
def code(deps: Deps, by: ActorDep) -> CodeOut:
    """Make a pairing code for another device, valid once and for `lives_s` seconds."""
    engine, lives_s = deps.engine, deps.running.settings.serve.code_lives_s
    made = make_pairing_code(engine.log, engine, engine.ports, by, lives_s=lives_s)
    return CodeOut(code=made, path=f"/#pair={made}", lives_s=lives_s)


@router.post("/devices/token", status_code=201)
def token(named: HostName, deps: Deps, by: ActorDep) -> TokenOut:
    """Make a token with which a program uses MCP as this host, never as the user."""
    engine = deps.engine
    given = issue_host_token(engine.log, engine, engine.ports, named.host, by)
    return TokenOut(device_id=given.device_id, host=named.host, token=given.text)


@router.put("/devices/{device_id}")
def rename(
    device_id: str, renamed: Renamed, deps: Deps, device: DeviceDep, by: ActorDep
) -> DeviceOut:
    """Rename a device."""
    deps.engine.do(RenameDevice(device_id, renamed.name), by=by)
    found = load_access(deps.engine.log).devices.get(device_id)
    if found is None:
        raise NotFound(f"no device {device_id!r}", hint="It was just revoked.")
    return device_out(found, device.device_id, deps)


@router.delete("/devices/{device_id}", status_code=204)
def revoke(device_id: str, deps: Deps, by: ActorDep) -> None:
    """Revoke a device or token. Its open streams end within a second."""
    deps.engine.do(RevokeDevice(device_id), by=by)


def signed_in(response: Response, deps: Dependencies, credential: Credential) -> SignedIn:
    """Answer a sign-in: half of the secret as a cookie that scripts cannot read, half as the key.

    Every port of this host name receives the cookie; only a page of this origin keeps the key.
    """
    response.set_cookie(
        deps.rules.cookie_name,
        credential.cookie,
        max_age=deps.running.settings.serve.device_lives_days * DAY_S,
        path="/",
        secure=deps.rules.secure,
        httponly=True,
        samesite="strict",
    )
    paired = load_access(deps.engine.log).devices[credential.device_id]
    out = device_out(paired, credential.device_id, deps).model_dump()
    return SignedIn(**out, key=credential.key, ticket=deps.ticket(paired, credential.cookie))


def device_out(device: Device, here: str, deps: Dependencies) -> DeviceOut:
    """A device as a response body; `here` is the id of the requesting device."""
    return DeviceOut(
        device_id=device.device_id,
        name=device.name,
        way=device.way,
        since=from_microseconds(device.since_us),
        this=device.device_id == here,
        host=device.host,
        expired=deps.is_expired(device),
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
