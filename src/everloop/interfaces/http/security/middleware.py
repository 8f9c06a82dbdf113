"""ASGI security middleware: checks host name, origin, body size and credentials of every request.

An unknown `Host` is refused (421), which stops DNS rebinding. Another origin is refused (403),
which stops cross-site request forgery. Everything under `/api` needs a paired device, except the
routes for signing in, and webhooks, which need a signature. A host's token is valid for `/mcp`
only. What is mounted at a signed path checks the signature of each request by itself. Every
response carries a content security policy, and private responses are not cached.

A browser proves a device by two halves of its secret: a cookie, and a header that only pages of
this origin can send. Cookies go to every port of a host name, so one alone opens nothing.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import msgspec
from fastapi import HTTPException

from everloop.access import Device
from everloop.stores import log_identity

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
PUBLIC_ROUTES = frozenset(
    {
        ("GET", "/api/health"),
        ("POST", "/api/session"),
        ("POST", "/api/session/passkey/options"),
        ("POST", "/api/session/passkey"),
        ("POST", "/api/session/proxy"),
        ("POST", "/api/webhooks/github"),  # signed with the secret of the webhook
    }
)
HOST_TOKEN_PATH = "/mcp"  # noqa: S105 - the only path that accepts a host's token
GUARDED_PATHS = ("/api", "/openapi.json", HOST_TOKEN_PATH)
SIGNED_PATHS = ("/voice",)  # each request there proves itself by a signature, not by a device
IMPORTS_PATH = "/api/imports"
SIGN_IN_PATH = "/api/session"
WEBHOOKS_PATH = "/api/webhooks/"
UNREPEATABLE_HEADERS = (
    b"host",
    b"origin",
    b"content-length",
)  # ambiguous if repeated: request smuggling
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
UNAUTHORIZED = 401
COOKIE_NAME = "everloop_device"
COOKIES_MAX = 4  # values of our cookie that are looked at; another port may have set more
KEY_HEADER = b"x-everloop-key"
# Shown or downloaded by links, which send no header.
TICKET_PATHS = re.compile(
    r"/api/files/.*|/api/export|/api/characters/[^/]+/(?:portrait|export)"
    r"|/api/worlds/[^/]+/(?:scenes/[^/]+/)?export"
)
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'{scripts}; style-src 'self' 'unsafe-inline';"
    " font-src 'self'; img-src 'self' data: blob:; connect-src 'self'; manifest-src 'self';"
    " worker-src 'self'; media-src 'self' blob:; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(self), payment=()"),
)


NO_STORE = (b"cache-control", b"no-store")  # responses that need a credential are not cached


class SecurityRules(msgspec.Struct, frozen=True):
    """Allowed host names, body size limits, and whether browsers connect over TLS."""

    hosts: tuple[str, ...] = LOOPBACK_HOSTS
    body_bytes_max: int = 30_000_000
    import_bytes_max: int = 2_000_000_000  # an import is streamed to disk
    sign_in_bytes_max: int = 65_536
    webhook_bytes_max: int = 2_000_000  # a larger delivery is polled for instead
    head_wait_s: float = 10.0  # also for the body of a request that needs no credential
    secure: bool = False
    instance: str = ""  # tells the cookies of several servers on one host name apart

    @property
    def cookie_name(self) -> str:
        """The session cookie's name. Over TLS, browsers enforce the `__Host-` prefix."""
        name = f"{COOKIE_NAME}_{self.instance}" if self.instance else COOKIE_NAME
        return f"__Host-{name}" if self.secure else name

    def body_limit_bytes(self, path: str) -> int:
        """The largest body allowed at a path."""
        if _is_below(path, (SIGN_IN_PATH, *SIGNED_PATHS)):
            return self.sign_in_bytes_max
        if path.startswith(WEBHOOKS_PATH):
            return self.webhook_bytes_max
        return self.import_bytes_max if path == IMPORTS_PATH else self.body_bytes_max


class Authenticator(Protocol):
    """Finds the device that a request proves to be; None if it proves none."""

    def by_credential(self, text: str) -> Device | None:
        """The device with this whole credential."""
        ...

    def by_ticket(self, cookie: str, ticket: str) -> Device | None:
        """The device with this cookie and a ticket made for it."""
        ...


def instance_of(path: Path) -> str:
    """A short name for the server of a log, the same after every start and on every node."""
    return sha256(log_identity(path).encode()).hexdigest()[:10]


class SecurityMiddleware:
    """ASGI middleware that rejects requests breaking the rules and adds security headers."""

    def __init__(self, app: AsgiApp, rules: SecurityRules, known: Authenticator) -> None:
        self._app = app
        self._rules = rules
        self._known = known
        policy = CONTENT_SECURITY_POLICY.format(scripts="")
        self._headers = ((b"content-security-policy", policy.encode()), *SECURITY_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with an error."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        private = (NO_STORE,) if _is_guarded(scope["path"]) else ()
        guarded_send = _with_headers(send, (*self._headers, *private))
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(scope, guarded_send, *refusal)
            return
        limited = _limited(receive, self._rules.body_limit_bytes(scope["path"]))
        if _is_public(scope):
            limited = _in_time(limited, self._rules.head_wait_s)
        await self._app(scope, limited, guarded_send)

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> tuple[int, str, str] | None:
        if len(headers) < len(scope["headers"]) and _is_ambiguous(scope["headers"]):
            return 400, "a header is repeated", "Send each header once."
        if not self._is_ours(headers.get(b"host", b"").decode("latin-1")):
            return 421, "this server does not answer to that host name", "Add it to `serve.hosts`."
        if not self._is_same_origin(scope, headers):
            return (
                403,
                "the request comes from another site",
                "Open Everloop's own address in the browser.",
            )
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._rules.body_limit_bytes(scope["path"]):
            return (
                413,
                "the request is too large",
                "Send less at once, or raise the limit in the section `[serve]` of the settings.",
            )
        scope.setdefault("state", {})
        device = self._device(scope, headers)
        scope["state"]["device"] = device
        if not _is_guarded(scope["path"]) or _is_public(scope):
            return None
        return _denial(device, scope["path"])

    def _is_ours(self, host: str) -> bool:
        name = host.rpartition(":")[0] if _has_port(host) else host
        return name.lower() in self._rules.hosts

    def _is_same_origin(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        """Whether a request comes from our own pages, or from a program that is not a browser.

        Another site may link to our pages, but may not call the API. Where a signature decides,
        nothing counts that a browser sends by itself.
        """
        if _is_below(scope["path"], SIGNED_PATHS):
            return True
        origin = headers.get(b"origin")
        if origin is None:
            is_link = scope.get("method") in SAFE_METHODS and not _is_guarded(scope["path"])
            site = headers.get(b"sec-fetch-site", b"none")
            return is_link or site in (b"none", b"same-origin")
        try:
            parts = urlsplit(origin.decode("latin-1"))
        except ValueError:
            return False
        return (
            parts.scheme in (("https",) if self._rules.secure else ("http", "https"))
            and parts.netloc.lower() == headers.get(b"host", b"").decode("latin-1").lower()
        )

    def _device(self, scope: Scope, headers: dict[bytes, bytes]) -> Device | None:
        bearer = headers.get(b"authorization", b"").decode("latin-1")
        if bearer.lower().startswith("bearer "):
            return self._known.by_credential(bearer[7:].strip())
        key, ticket = headers.get(KEY_HEADER, b"").decode("latin-1"), _ticket(scope)
        for cookie in cookie_values(scope["headers"], self._rules.cookie_name)[:COOKIES_MAX]:
            device = self._known.by_credential(cookie + key) if key else None
            device = device or (self._known.by_ticket(cookie, ticket) if ticket else None)
            if device is not None:
                scope["state"]["cookie"] = cookie
                return device
        return None


def cookie_values(headers: Iterable[tuple[bytes, bytes]], name: str) -> list[str]:
    """The values of a cookie. Cookies of others, whatever they contain, do not matter."""
    sent = [value.decode("latin-1") for header, value in headers if header == b"cookie"]
    parts = (part.strip().partition("=") for line in sent for part in line.split(";"))
    return [value for found, sign, value in parts if sign and found == name]


def _ticket(scope: Scope) -> str:
    """The ticket in the address of a link; empty where links carry none."""
    if scope.get("method") not in SAFE_METHODS or not TICKET_PATHS.fullmatch(scope["path"]):
        return ""
    asked: bytes = scope.get("query_string", b"")
    return parse_qs(asked.decode("latin-1")).get("ticket", [""])[0]


def _is_ambiguous(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    names = [name for name, _ in headers]
    return any(names.count(name) > 1 for name in UNREPEATABLE_HEADERS)


def _denial(device: Device | None, path: str) -> tuple[int, str, str] | None:
    """Why a credential does not give access to a path; None if it does."""
    if device is None:
        return 401, "this device is not signed in", "Pair it: run `everloop pair`."
    if device.host and path != HOST_TOKEN_PATH:
        return 403, "a host's token is valid for /mcp only", "Pair a device to use the API."
    return None


def _is_guarded(path: str) -> bool:
    return _is_below(path, GUARDED_PATHS)


def _is_below(path: str, roots: Sequence[str]) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)


def _is_public(scope: Scope) -> bool:
    known = (scope.get("method", ""), scope["path"]) in PUBLIC_ROUTES
    return known or _is_below(scope["path"], SIGNED_PATHS)


def _has_port(host: str) -> bool:
    return host.rpartition(":")[2].isdigit() and not host.endswith("]")


def _with_headers(send: Send, headers: Sequence[tuple[bytes, bytes]]) -> Send:
    async def send_with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given: Iterable[tuple[bytes, bytes]] = message.get("headers", ())
            known = {name.lower() for name, _ in given}
            added = [pair for pair in headers if pair[0] not in known]
            message = {**message, "headers": [*given, *added]}
        await send(message)

    return send_with_headers


def _limited(receive: Receive, bytes_max: int) -> Receive:
    """Enforce the size limit on a body whose length was not declared."""
    received = 0

    async def limited() -> MutableMapping[str, Any]:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > bytes_max:
            raise HTTPException(413, "the request is too large")
        return message

    return limited


def _in_time(receive: Receive, wait_s: float) -> Receive:
    """Enforce a time limit on the body of somebody unknown."""
    ended = False

    async def in_time() -> MutableMapping[str, Any]:
        nonlocal ended
        if ended:  # from here on, only whether the client is still there
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), wait_s)
        except TimeoutError:
            raise HTTPException(408, "the request took too long") from None
        ended = not message.get("more_body")
        return message

    return in_time


async def _refuse(scope: Scope, send: Send, status: int, message: str, hint: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    body = msgspec.json.encode({"error": message, "hint": hint})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        NO_STORE,
    ]
    if status == UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
