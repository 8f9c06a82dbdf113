"""The way out of a sandbox without a network: a proxy that passes on to allowed hosts only.

Run outside the sandbox, around it: `python -I -S egress_proxy.py SOCKET HOSTS -- COMMAND …`. It
listens on SOCKET, whose folder the sandbox has, starts COMMAND and ends with it. Names are looked
up here. The standard library alone.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

HTTPS = 443
CHUNK = 65_536
HEAD_S = 30  # how long the beginning of a request may take
CONNECT_S = 30
KILLED = 128
DROPPED = ("proxy-connection", "proxy-authorization", "connection", "host")


def is_allowed(host: str, port: int, allowed: list[str]) -> bool:
    """Whether a host may be reached: `name` on port 443, `name:port`, or `*.name` for all below."""
    host = host.rstrip(".").lower()
    for entry in allowed:
        name, _, given = entry.lower().rpartition(":") if ":" in entry else (entry.lower(), "", "")
        if port != int(given or HTTPS):
            continue
        if host == name or (name.startswith("*.") and host.endswith(name[1:])):
            return True
    return False


class EgressProxy:
    """Answers CONNECT and plain requests of what runs in the sandbox."""

    def __init__(self, allowed: list[str]) -> None:
        self._allowed = allowed

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, and close it."""
        try:
            async with asyncio.timeout(HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
            await self._answer(head, reader, writer)
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError):
            pass  # whoever asked is gone, or spoke no HTTP
        except asyncio.LimitOverrunError:
            await _refuse(writer, 431, "The request is too long.")
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        address = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = address.hostname or "", address.port or (HTTPS if method == "CONNECT" else 80)
        if not is_allowed(host, port, self._allowed):
            await _refuse(writer, 403, f"This task may not reach {host}:{port}.")
            return
        try:
            async with asyncio.timeout(CONNECT_S):
                there_reader, there = await asyncio.open_connection(host, port)
        except (OSError, TimeoutError):
            await _refuse(writer, 502, f"{host}:{port} cannot be reached.")
            return
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = address._replace(scheme="", netloc="", fragment="").geturl() or "/"
            kept = [one for one in lines if one and one.split(":")[0].lower() not in DROPPED]
            kept = [f"{method} {path} HTTP/1.1", f"Host: {address.netloc}", *kept]
            there.write("\r\n".join([*kept, "Connection: close", "", ""]).encode("latin-1"))
        try:
            await asyncio.gather(_pump(reader, there), _pump(there_reader, writer))
        finally:
            there.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until the end, and pass the end on."""
    with suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    with suppress(OSError, RuntimeError):
        writer.write_eof()


async def _refuse(writer: asyncio.StreamWriter, status: int, why: str) -> None:
    text = f"Everloop: {why} Only the user can grant it the network.\n".encode()
    head = f"HTTP/1.1 {status} Refused\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + text)
    with suppress(OSError):
        await writer.drain()


def _go_on(*_: object) -> None:
    """Do not end before the command."""


async def run(socket: Path, allowed: list[str], argv: list[str]) -> int:
    """Run a command beside the proxy; returns its exit code."""
    started_in = os.getcwd()
    os.chdir(socket.parent)  # the path of a socket must be short
    with suppress(FileNotFoundError):
        os.unlink(socket.name)
    server = await asyncio.start_unix_server(EgressProxy(allowed).serve, socket.name)
    async with server:
        # What ends this process ends the command first, so that it can say its last words.
        signal.signal(signal.SIGTERM, _go_on)
        command = subprocess.Popen(argv, cwd=started_in)  # noqa: S603, ASYNC220
        code = await asyncio.to_thread(command.wait)
    return code if code >= 0 else KILLED - code


if __name__ == "__main__":
    ended = asyncio.run(run(Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[4:]))
    os._exit(ended)
