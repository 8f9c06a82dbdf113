"""The specifications of the commands that start servers, and that manage devices and hosts.

Nothing here imports more than `argparse`, so that help stays fast.
"""

from argparse import ArgumentParser

from everloop.interfaces.cli.parsing.argument_types import parse_count
from everloop.interfaces.cli.parsing.command_spec import CommandSpec, no_arguments

HOSTS = ("claude-code",)
SCOPES = ("user", "project")


def _mcp(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--as",
        dest="host",
        metavar="NAME",
        help="name of the host (default: the name that the client reports)",
    )


def _serve(parser: ArgumentParser) -> None:
    parser.add_argument("--host", dest="address", metavar="ADDRESS", help="address to listen on")
    parser.add_argument("--port", type=int, help="port to listen on; 0 picks a free one")
    parser.add_argument(
        "--lan", action="store_true", help="also allow other devices on this network"
    )


def _device(parser: ArgumentParser) -> None:
    parser.add_argument("device", help="ID or name of the device")


def _rename_device(parser: ArgumentParser) -> None:
    _device(parser)
    parser.add_argument("name", help="new name")


def _service(parser: ArgumentParser) -> None:
    parser.add_argument("service", help="name of the service, such as ollama or claude")


def _service_logs(parser: ArgumentParser) -> None:
    parser.add_argument("-n", "--lines", type=parse_count, default=50, help="number of lines")
    parser.add_argument("-f", "--follow", action="store_true", help="keep showing new lines")


def _install(parser: ArgumentParser) -> None:
    parser.add_argument("host", choices=HOSTS, help="program to install Everloop into")
    parser.add_argument(
        "--scope",
        choices=SCOPES,
        default=SCOPES[0],
        help="user: all your projects; project: this folder and everyone who shares it",
    )
    parser.add_argument("--uninstall", action="store_true", help="remove Everloop again")


def _host(parser: ArgumentParser) -> None:
    parser.add_argument("host", help="name of the host, as given with `--as NAME`")


def _check_voice(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--online", action="store_true", help="also ask Twilio and the public address, by a request"
    )


def _call_me(parser: ArgumentParser) -> None:
    parser.add_argument("task", help="ID of the task")
    parser.add_argument("--cancel", action="store_true", help="no longer be called about it")


def _hook(parser: ArgumentParser) -> None:
    parser.add_argument("event", nargs="*", help="session-start, prompt, stop or session-end")


SERVER_COMMANDS: tuple[CommandSpec, ...] = (
    CommandSpec(
        ("serve",),
        "start the web app",
        "",
        "serve",
        _serve,
        "Listens on this machine only unless --host or --lan is given, and prints a link that signs"
        " in one browser. See `docs/http.md`.",
    ),
    CommandSpec(
        ("pair",),
        "create a code to sign in a device",
        "server.devices",
        "pair",
        no_arguments,
        "A device that signs in with the code acts as you. The code works once and expires after"
        " ten minutes.",
    ),
    CommandSpec(
        ("devices",),
        "list signed-in devices",
        "server.devices",
        "list_devices",
        no_arguments,
    ),
    CommandSpec(
        ("devices", "revoke"),
        "sign out a device",
        "server.devices",
        "revoke",
        _device,
        "Only you can do this, at a terminal or under Devices in the web app; scripts and agents"
        " cannot.",
    ),
    CommandSpec(
        ("devices", "rename"),
        "rename a device",
        "server.devices",
        "rename",
        _rename_device,
        "Only you can do this, at a terminal or under Devices in the web app.",
    ),
    CommandSpec(
        ("models",),
        "list the models that were found, and which answer",
        "server.models",
        "list_models",
        no_arguments,
    ),
    CommandSpec(
        ("models", "allow"),
        "allow a model service that was found on this machine",
        "server.models",
        "allow",
        _service,
        "Prompts contain memories, so nothing that was merely found is sent one before you allow"
        " it. Only you can do this, at a terminal or in the web app.",
    ),
    CommandSpec(
        ("models", "withdraw"),
        "stop using a model service that you allowed",
        "server.models",
        "withdraw",
        _service,
        "Only you can do this, at a terminal or in the web app.",
    ),
    CommandSpec(
        ("voice",),
        "list telephone calls, and what became of each",
        "server.telephone",
        "list_calls",
        no_arguments,
        "See `docs/voice.md` for how to set the telephone up.",
    ),
    CommandSpec(
        ("voice", "check"),
        "check the telephone's configuration without a call",
        "server.telephone",
        "check",
        _check_voice,
        "Nothing is sent anywhere unless --online is given, and no call is made in either case.",
    ),
    CommandSpec(
        ("voice", "call-me"),
        "be called once when a task is done",
        "server.telephone",
        "call_me",
        _call_me,
        "Only you can ask for a call, at a terminal; scripts and agents cannot.",
    ),
    CommandSpec(
        ("service", "install"),
        "keep `everloop serve` running, also after a crash, a reboot and log-out",
        "server.service",
        "install",
        no_arguments,
        "A systemd user unit on Linux, a launchd agent on macOS. It is shown before it is written."
        " Only you can do this, at a terminal. See `docs/install.md`.",
    ),
    CommandSpec(
        ("service", "status"),
        "show whether the service is installed and runs",
        "server.service",
        "status",
        no_arguments,
    ),
    CommandSpec(
        ("service", "logs"),
        "show what the service printed",
        "server.service",
        "logs",
        _service_logs,
        "Only you can do this, at a terminal.",
    ),
    CommandSpec(
        ("service", "remove"),
        "stop the service and remove it; your data stays",
        "server.service",
        "remove",
        no_arguments,
        "Only you can do this, at a terminal.",
    ),
    CommandSpec(
        ("mcp",),
        "start an MCP server on standard input and output",
        "",
        "serve",
        _mcp,
        "Everything done through it is recorded as `agent:NAME`, never as the user."
        " See `docs/mcp.md` for the tools.",
    ),
    CommandSpec(
        ("install",),
        "install Everloop into a host such as Claude Code, or remove it",
        "server.install",
        "install",
        _install,
        "Shows the changes and asks before it writes them; other settings are kept. Then it asks"
        " whether you trust the host to report your feedback. With --yes it asks nothing and trusts"
        " no host.",
    ),
    CommandSpec(
        ("hook",),
        "handle an event of a host (called by the host)",
        "server.hook",
        "hook",
        _hook,
        "Reads the event from standard input. Always exits with code 0, so the host is never"
        " blocked.",
    ),
    CommandSpec(
        ("hosts",),
        "list hosts and whether you trust them",
        "server.hosts",
        "list_hosts",
        no_arguments,
    ),
    CommandSpec(
        ("hosts", "trust"),
        "trust a host to report your feedback",
        "server.hosts",
        "trust",
        _host,
        "The host may then activate, change and withdraw lessons and install packs in your name."
        " Praise that it reports counts as yours if its hook heard you say the words, for one"
        " lesson a day that you did not activate yourself. It cannot promote lessons."
        " An agent that can run commands on this machine can act as its host:"
        " trust a host only as much as the agents that run in it.",
    ),
    CommandSpec(("hosts", "distrust"), "stop trusting a host", "server.hosts", "distrust", _host),
    CommandSpec(
        ("hosts", "token"),
        "create a token for a host to use MCP over HTTP (`/mcp` of `everloop serve`)",
        "server.hosts",
        "token",
        _host,
        "The token is shown once. It gives access to MCP only, as that host and never as you."
        " Revoke it with `everloop devices revoke`.",
    ),
)
