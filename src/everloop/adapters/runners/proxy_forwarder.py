"""Inside a sandbox without a network: a loopback port that leads to the proxy outside.

Run as `python -I -S proxy_forwarder.py PORT SOCKET -- COMMAND …`. Programmes find the port as their
proxy; what the one outside allows, it passes on. Ends with the sandbox. The standard library alone.
"""

import asyncio
import os
import socket
import sys
from contextlib import suppress

CHUNK = 65_536


async def serve(listening: socket.socket, path: str) -> None:
    """Connect each caller with the proxy."""

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there_reader, there = await asyncio.open_unix_connection(path)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pump(reader, there), _pump(there_reader, writer))
        there.close()
        writer.close()

    async with await asyncio.start_server(connect, sock=listening) as server:
        await server.serve_forever()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    with suppress(OSError, RuntimeError):
        writer.write_eof()


def main(port: int, path: str, argv: list[str]) -> None:
    """Become the command, with the forwarder beside it."""
    listening = socket.create_server(("127.0.0.1", port))
    if os.fork() == 0:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)  # the output of the command ends with the command
        asyncio.run(serve(listening, path))
        os._exit(0)
    listening.close()
    os.execvp(argv[0], argv)  # noqa: S606 - the command of the task, as it was launched


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[4:])
