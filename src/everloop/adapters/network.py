"""The LAN address of this machine, and plain GET requests to servers of models."""

import http.client
import socket
from collections.abc import Mapping
from contextlib import closing
from urllib.parse import urlsplit

NOWHERE = ("192.0.2.1", 9)  # reserved for documentation (RFC 5737); nothing is sent
LOOPBACK = "127.0.0.1"


def lan_address() -> str:
    """The address of the outgoing network interface; loopback if there is none."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(NOWHERE)
        except OSError:
            return LOOPBACK
        address: str = probe.getsockname()[0]
    return address


def http_get(
    url: str, headers: Mapping[str, str], *, timeout_s: float, bytes_max: int
) -> tuple[int, bytes]:
    """The status and the body of a GET request, up to a size. Redirects are not followed.

    Raises:
        OSError: the server cannot be reached.
        http.client.HTTPException: it does not speak HTTP.
    """
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    with closing(kind(parts.hostname or "", parts.port, timeout=timeout_s)) as connection:
        connection.request("GET", parts.path, headers=dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read(bytes_max)
