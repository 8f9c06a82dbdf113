"""Web push with VAPID: the server's key pair in a file of its own, and sending to push services.

The payload is a title and a link, encrypted for the browser; the push service cannot read it. The
library is loaded when something is first sent.

A crash between sending and recording sends a message again. It has the same topic, by which the
push service replaces the first, and the same tag, by which the device does.
"""

import base64
import importlib
import importlib.util
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from everloop.notifications import Notification, Outcome, Subscription

KEY_FILE = "push.key"
OWNER_ONLY = 0o600
TIMEOUT_S = 15
GONE = (404, 410)
REFUSED = (400, 401, 403, 413)
LIMITED = 429
SUCCESS_END = 300
RETRY_MAX_S = 3_600
MISSING = "pywebpush is not installed: pip install 'everloop[serve]'"


class WebPush:
    """Sends push messages; the key pair is made when it is first needed."""

    def __init__(self, folder: Path, contact: str) -> None:
        self._path, self._contact = folder / KEY_FILE, contact
        self._vapid: Any = None

    @property
    def public_key(self) -> str:
        """The public key, as browsers want it; empty if pywebpush is not installed."""
        if not _is_installed():
            return ""
        kinds: Any = importlib.import_module("cryptography.hazmat.primitives.serialization")
        kind = (kinds.Encoding.X962, kinds.PublicFormat.UncompressedPoint)
        point: bytes = self._load().public_key.public_bytes(*kind)
        return base64.urlsafe_b64encode(point).rstrip(b"=").decode()

    def send(self, to: Subscription, message: Notification) -> Outcome:
        """Encrypt a message and hand it to the device's push service."""
        if not _is_installed():
            return Outcome("failed", 0, MISSING)
        library: Any = importlib.import_module("pywebpush")
        keys = {"p256dh": to.p256dh, "auth": to.auth}
        data = json.dumps({"title": message.title, "path": message.path, "kind": message.kind})
        address = urlsplit(to.endpoint)
        claims = {"aud": f"{address.scheme}://{address.netloc}", "sub": self._contact}
        try:
            headers = dict(self._load().sign(claims))
            headers["topic"] = message.topic
            headers["urgency"] = "high" if message.urgent else "normal"
            pusher = library.WebPusher({"endpoint": to.endpoint, "keys": keys})
            answer = pusher.send(data, headers, ttl=message.ttl_s, timeout=TIMEOUT_S)
        except (library.WebPushException, OSError, ValueError) as problem:
            return Outcome("failed", 0, type(problem).__name__)
        return _outcome(int(answer.status_code), answer.headers)

    def _load(self) -> Any:
        """The key pair from its file, which only its owner can read; made once."""
        if self._vapid is None:
            vapid: Any = importlib.import_module("py_vapid")
            if not self._path.exists():
                _make_key(self._path, vapid.Vapid)
            self._vapid = vapid.Vapid.from_pem(self._path.read_bytes())
        return self._vapid


def _is_installed() -> bool:
    return importlib.util.find_spec("pywebpush") is not None


def _make_key(path: Path, kind: Any) -> None:
    """Write a new key beside the log; of two processes that try, the first one's is kept."""
    pair = kind()
    pair.generate_keys()
    new = path.with_name(f"{path.name}.{os.getpid()}")
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY)
    with os.fdopen(file, "wb") as out:
        out.write(pair.private_pem())
        out.flush()
        os.fsync(out.fileno())
    with suppress(FileExistsError):
        os.link(new, path)
    new.unlink()


def _outcome(status: int, headers: Mapping[str, str]) -> Outcome:
    if status in GONE:
        return Outcome("gone", status)
    if status == LIMITED:
        return Outcome("limited", status, retry_after_s=_retry_after(headers))
    if status in REFUSED:
        return Outcome("refused", status, "The push service refused it.")
    if status >= SUCCESS_END:
        return Outcome("failed", status, "The push service has a problem.")
    return Outcome("delivered", status)


def _retry_after(headers: Mapping[str, str]) -> int:
    said = headers.get("retry-after", "")
    return min(int(said), RETRY_MAX_S) if said.isdigit() else 0
