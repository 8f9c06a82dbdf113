"""`everloop mcp`: serve one client over standard input and output until it leaves."""

import importlib
import logging
import sys
from argparse import Namespace

from everloop.adapters.system import system_world
from everloop.app import Engine
from everloop.errors import Unavailable
from everloop.settings import host_session, load


def serve(asked: Namespace) -> int:
    """Serve, and give the exit code. Standard output carries the protocol and nothing else.

    Raises:
        Unavailable: the extra is not installed.
    """
    try:
        server = importlib.import_module("everloop.interfaces.mcp.server")
        anyio = importlib.import_module("anyio")
    except ImportError as problem:
        raise Unavailable(
            f"the MCP server is not installed: {problem}",
            hint="Install it: pip install 'everloop[mcp]'",
        ) from problem
    logging.basicConfig(level=logging.WARNING, format="everloop mcp: %(message)s")
    if sys.stdin.isatty():
        sys.stderr.write("everloop mcp: a host starts this and speaks MCP to it; see docs/mcp.md\n")
    settings = load(home=asked.home)
    world = system_world(settings.log.lock_wait_s)
    engine = Engine.open(settings=settings, tenant=asked.tenant, world=world)
    room = server.room_for(
        engine,
        settings,
        run=host_session() or world.ids.new("mcp"),
        name=asked.host or "",
        tenant=asked.tenant,
    )
    try:
        anyio.run(server.build(room).run_stdio_async)
    finally:
        room.close()
    return 0
