"""The rows of the commands that open other doors, and of what concerns the hosts behind them.

Nothing here imports more than `argparse`.
"""

from argparse import ArgumentParser

from everloop.interfaces.cli.parsing.verb import Verb, nothing

HOSTS = ("claude-code",)
SCOPES = ("user", "project")


def _mcp(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--as",
        dest="host",
        metavar="NAME",
        help="the host that speaks; by default, what the client calls itself",
    )


def _serve(parser: ArgumentParser) -> None:
    parser.add_argument("--host", dest="address", metavar="ADDRESS", help="where to listen")
    parser.add_argument("--port", type=int, help="which port; 0: any that is free")
    parser.add_argument("--lan", action="store_true", help="for other devices in this network too")


def _device(parser: ArgumentParser) -> None:
    parser.add_argument("device", help="its id, or its name")


def _renamed(parser: ArgumentParser) -> None:
    _device(parser)
    parser.add_argument("name", help="what to call it")


def _install(parser: ArgumentParser) -> None:
    parser.add_argument("host", choices=HOSTS, help="where to")
    parser.add_argument(
        "--scope",
        choices=SCOPES,
        default=SCOPES[0],
        help="for all of your projects, or for this folder and all who share it",
    )
    parser.add_argument("--uninstall", action="store_true", help="take it out again")


def _host(parser: ArgumentParser) -> None:
    parser.add_argument("host", help="its name, as `--as NAME` gives it")


def _hook(parser: ArgumentParser) -> None:
    parser.add_argument("event", nargs="*", help="session-start, prompt, stop or session-end")


DOOR_VERBS: tuple[Verb, ...] = (
    Verb(
        ("serve",),
        "talk, and look at everything, in a browser",
        "",
        "serve",
        _serve,
        "It listens on this machine alone unless --host or --lan says otherwise, and prints a link"
        " that signs one browser in. `docs/http.md` tells the rest.",
    ),
    Verb(
        ("pair",),
        "make a code that lets one device in",
        "server.devices",
        "pair",
        nothing,
        "Whoever comes in with it speaks as you. It holds once, and for ten minutes.",
    ),
    Verb(
        ("devices",),
        "show the devices that are let in",
        "server.devices",
        "listed",
        nothing,
    ),
    Verb(
        ("devices", "revoke"),
        "let a device in no more",
        "server.devices",
        "revoke",
        _device,
        "Only you can, at a terminal, or under Devices in the web pages: a script or an agent's"
        " shell shuts nobody out.",
    ),
    Verb(
        ("devices", "rename"),
        "call a device something else",
        "server.devices",
        "rename",
        _renamed,
        "Only you can, at a terminal, or under Devices in the web pages.",
    ),
    Verb(
        ("mcp",),
        "serve a model's host over MCP, on standard input and output",
        "",
        "serve",
        _mcp,
        "Whoever speaks through it is recorded as `agent:NAME`, never as the user."
        " `docs/mcp.md` lists the tools.",
    ),
    Verb(
        ("install",),
        "write Everloop into a host's own settings, or take it out",
        "server.install",
        "install",
        _install,
        "It shows what it would write and asks; what others wrote there stays. Then it asks whether"
        " you trust the host to pass on your words. With --yes it asks nothing and trusts nobody.",
    ),
    Verb(
        ("hook",),
        "what a host runs by itself at the turns of its work",
        "server.hook",
        "hook",
        _hook,
        "It reads the event from standard input, and never fails: the host's work goes on.",
    ),
    Verb(
        ("hosts",),
        "show whom you trust to pass on your words",
        "server.hosts",
        "listed",
        nothing,
    ),
    Verb(
        ("hosts", "trust"),
        "let a host pass on your words",
        "server.hosts",
        "trust",
        _host,
        "Praise that it reports as yours then counts as yours when a lesson is to be promoted, and"
        " it may put lessons on trial, install packs and let go of lessons in your name. It cannot"
        " promote. An agent that can run commands on this machine can speak in its host's name:"
        " trust a host as you trust the agents in it.",
    ),
    Verb(("hosts", "distrust"), "let it no longer", "server.hosts", "distrust", _host),
    Verb(
        ("hosts", "token"),
        "let a host in over HTTP, at `/mcp` of `everloop serve`",
        "server.hosts",
        "token",
        _host,
        "The token is shown once. Whoever has it speaks as that host, never as you, and is let in"
        " nowhere else. `everloop devices revoke` takes it back.",
    ),
)
