"""ASGI security middleware: checks host name, origin, body size and credentials of every request.

An unknown `Host` is refused (421), which stops DNS rebinding. Another origin is refused (403),
which stops cross-site request forgery. Everything under `/api` needs a paired device, except the
routes for signing in. A host's token is valid for `/mcp` only. Every response carries a content
security policy, and private responses are not cached.
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
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
PUBLIC_ROUTES = frozenset(
    {
        ("GET", "/api/health"),
        ("POST", "/api/session"),
        ("POST", "/api/session/passkey/options"),
        ("POST", "/api/session/passkey"),
        ("POST", "/api/session/proxy"),
    }
)
HOST_TOKEN_PATH = "/mcp"  # noqa: S105 - the only path that accepts a host's token
GUARDED_PATHS = ("/api", "/openapi.json", HOST_TOKEN_PATH)
IMPORTS_PATH = "/api/imports"
UNREPEATABLE_HEADERS = (
    b"host",
    b"origin",
    b"content-length",
)  # ambiguous if repeated: request smuggling
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
UNAUTHORIZED = 401
COOKIE_NAME = "everloop_device"
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
    secure: bool = False

    @property
    def cookie_name(self) -> str:
        """The session cookie's name. Over TLS, browsers enforce the `__Host-` prefix."""
        return f"__Host-{COOKIE_NAME}" if self.secure else COOKIE_NAME

    def body_limit_bytes(self, path: str) -> int:
        """The largest body allowed at a path."""
        return self.import_bytes_max if path == IMPORTS_PATH else self.body_bytes_max


class SecurityMiddleware:
    """ASGI middleware that rejects requests breaking the rules and adds security headers."""

    def __init__(
        self, app: AsgiApp, rules: SecurityRules, device_of: Callable[[str], Device | None]
    ) -> None:
        self._app = app
        self._rules = rules
        self._device_of = device_of
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
        device = self._device(headers)
        scope["state"]["device"] = device
        if (
            not _is_guarded(scope["path"])
            or (scope.get("method", ""), scope["path"]) in PUBLIC_ROUTES
        ):
            return None
        return _denial(device, scope["path"])

    def _is_ours(self, host: str) -> bool:
        name = host.rpartition(":")[0] if _has_port(host) else host
        return name.lower() in self._rules.hosts

    def _is_same_origin(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        """Whether a request comes from our own pages, or from a program that is not a browser.

        Another site may link to our pages, but may not call the API.
        """
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

    def _device(self, headers: dict[bytes, bytes]) -> Device | None:
        bearer = headers.get(b"authorization", b"").decode("latin-1")
        if bearer.lower().startswith("bearer "):
            return self._device_of(bearer[7:].strip())
        jar: SimpleCookie = SimpleCookie()
        try:
            jar.load(headers.get(b"cookie", b"").decode("latin-1"))
        except CookieError:
            return None
        found = jar.get(self._rules.cookie_name)
        return self._device_of(found.value) if found else None


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
    return any(path == root or path.startswith(f"{root}/") for root in GUARDED_PATHS)


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
