"""`everloop mcp`: serve one MCP client over standard input and output until it disconnects."""

import logging
import sys
from argparse import Namespace

from everloop.adapters import system_ports
from everloop.app import Engine
from everloop.errors import Unavailable
from everloop.settings import host_session, load


def serve(asked: Namespace) -> int:
    """Serve and return the exit code. Standard output carries the protocol and nothing else.

    Raises:
        Unavailable: the `mcp` extra is not installed.
    """
    try:
        import anyio  # noqa: PLC0415 - comes with the `mcp` extra

        from everloop.interfaces.mcp import server  # noqa: PLC0415 - needs the `mcp` extra
    except ImportError as problem:
        raise Unavailable(
            f"the MCP server is not installed: {problem}",
            hint="Install it: pip install 'everloop[mcp]'",
        ) from problem
    logging.basicConfig(level=logging.WARNING, format="everloop mcp: %(message)s")
    if sys.stdin.isatty():
        sys.stderr.write("everloop mcp: waiting for MCP on standard input; see docs/mcp.md\n")
    settings = load(home=asked.home)
    ports = system_ports(settings.log.lock_wait_s)
    engine = Engine.open(settings=settings, tenant=asked.tenant, ports=ports)
    room = server.make_tool_context(
        engine,
        settings,
        run=host_session() or ports.ids.new("mcp"),
        name=asked.host or "",
        tenant=asked.tenant,
    )
    try:
        anyio.run(server.build_server(room).run_stdio_async)
    finally:
        room.close()
    return 0
