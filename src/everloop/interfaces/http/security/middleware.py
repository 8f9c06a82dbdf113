"""What every request meets first, whatever route it is for: names, origins, sizes, credentials.

A request for a host that is not ours is refused (421): so no page can reach us under a name of its
own. One that comes from another origin is refused (403). Everything under `/api` needs a device
that is let in, except what a device needs to come in. A host's token opens `/mcp` and nothing else.
Every answer carries the headers that keep a browser from running or loading what is not ours, and
from keeping what is private.
"""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

import msgspec
from fastapi import HTTPException

from everloop.access.state import Device

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
PUBLIC = frozenset(
    {
        ("GET", "/api/health"),
        ("POST", "/api/session"),
        ("POST", "/api/session/passkey/options"),
        ("POST", "/api/session/passkey"),
        ("POST", "/api/session/proxy"),
    }
)
FOR_HOSTS = "/mcp"  # all that is open to a host's token
GUARDED = ("/api", "/openapi.json", FOR_HOSTS)
IMPORTS = "/api/imports"
ONCE = (b"host", b"origin", b"content-length")  # said twice, nobody knows which one holds
SAFE = ("GET", "HEAD", "OPTIONS")
UNAUTHORIZED = 401
COOKIE = "everloop_device"
POLICY = (
    "default-src 'none'; script-src 'self'{scripts}; style-src 'self' 'unsafe-inline';"
    " font-src 'self'; img-src 'self' data: blob:; connect-src 'self'; manifest-src 'self';"
    " worker-src 'self'; media-src 'self' blob:; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(self), payment=()"),
)


PRIVATE = (b"cache-control", b"no-store")  # of what is guarded nothing is kept on the way


class Rules(msgspec.Struct, frozen=True):
    """Which hosts are ours, how large a body may be, and whether browsers reach us by TLS."""

    hosts: tuple[str, ...] = LOOPBACK
    body_bytes_max: int = 30_000_000
    import_bytes_max: int = (
        2_000_000_000  # conversations from elsewhere go to the disk as they come
    )
    secure: bool = False

    @property
    def cookie(self) -> str:
        """The cookie's name. Under TLS a browser guards the prefix."""
        return f"__Host-{COOKIE}" if self.secure else COOKIE

    def bytes_max(self, path: str) -> int:
        """How large a body may be that is sent there."""
        return self.import_bytes_max if path == IMPORTS else self.body_bytes_max


class Shield:
    """An ASGI application around another one."""

    def __init__(self, app: App, rules: Rules, device_of: Callable[[str], Device | None]) -> None:
        self._app = app
        self._rules = rules
        self._device_of = device_of
        policy = POLICY.format(scripts="")
        self._headers = ((b"content-security-policy", policy.encode()), *HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or say why not."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        private = (PRIVATE,) if _is_guarded(scope["path"]) else ()
        guarded_send = _with_headers(send, (*self._headers, *private))
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(scope, guarded_send, *refusal)
            return
        limited = _limited(receive, self._rules.bytes_max(scope["path"]))
        await self._app(scope, limited, guarded_send)

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> tuple[int, str, str] | None:
        if len(headers) < len(scope["headers"]) and _is_ambiguous(scope["headers"]):
            return 400, "a header is said twice", "Say it once."
        if not self._is_ours(headers.get(b"host", b"").decode("latin-1")):
            return 421, "this server is not known by that name", "Add it to `serve.hosts`."
        if not self._is_same_origin(scope, headers):
            return 403, "the request comes from another site", "Open Everloop itself."
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._rules.bytes_max(scope["path"]):
            return 413, "the request is too large", "Send less at once."
        scope.setdefault("state", {})
        device = self._device(headers)
        scope["state"]["device"] = device
        if not _is_guarded(scope["path"]) or (scope.get("method", ""), scope["path"]) in PUBLIC:
            return None
        return _stranger(device, scope["path"])

    def _is_ours(self, host: str) -> bool:
        name = host.rpartition(":")[0] if _has_port(host) else host
        return name.lower() in self._rules.hosts

    def _is_same_origin(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        """A browser says where a request comes from; what is not a browser says nothing.

        Another page may lead here, to the pages; it may neither ask nor change anything.
        """
        origin = headers.get(b"origin")
        if origin is None:
            leads = scope.get("method") in SAFE and not _is_guarded(scope["path"])
            site = headers.get(b"sec-fetch-site", b"none")
            return leads or site in (b"none", b"same-origin")
        try:
            parts = urlsplit(origin.decode("latin-1"))
        except ValueError:
            return False
        return (
            parts.scheme in (("https",) if self._rules.secure else ("http", "https"))
            and parts.netloc.lower() == headers.get(b"host", b"").decode("latin-1").lower()
        )

    def _device(self, headers: dict[bytes, bytes]) -> Device | None:
        bearer = headers.get(b"authorization", b"").decode("latin-1")
        if bearer.lower().startswith("bearer "):
            return self._device_of(bearer[7:].strip())
        jar: SimpleCookie = SimpleCookie()
        try:
            jar.load(headers.get(b"cookie", b"").decode("latin-1"))
        except CookieError:
            return None
        found = jar.get(self._rules.cookie)
        return self._device_of(found.value) if found else None


def _is_ambiguous(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    names = [name for name, _ in headers]
    return any(names.count(name) > 1 for name in ONCE)


def _stranger(device: Device | None, path: str) -> tuple[int, str, str] | None:
    """Why whoever brings this credential is not let in there."""
    if device is None:
        return 401, "this device is not signed in", "Pair it: everloop pair."
    if device.host and path != FOR_HOSTS:
        return 403, "a host's token opens /mcp and nothing else", "Pair a device instead."
    return None


def _is_guarded(path: str) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in GUARDED)


def _has_port(host: str) -> bool:
    return host.rpartition(":")[2].isdigit() and not host.endswith("]")


def _with_headers(send: Send, headers: Sequence[tuple[bytes, bytes]]) -> Send:
    async def guarded(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given: Iterable[tuple[bytes, bytes]] = message.get("headers", ())
            known = {name.lower() for name, _ in given}
            added = [pair for pair in headers if pair[0] not in known]
            message = {**message, "headers": [*given, *added]}
        await send(message)

    return guarded


def _limited(receive: Receive, bytes_max: int) -> Receive:
    """A body without a stated length is refused where it goes beyond the limit."""
    taken = 0

    async def limited() -> MutableMapping[str, Any]:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > bytes_max:
            raise HTTPException(413, "the request is too large")
        return message

    return limited


async def _refuse(scope: Scope, send: Send, status: int, message: str, hint: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    body = msgspec.json.encode({"error": message, "hint": hint})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        PRIVATE,
    ]
    if status == UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
