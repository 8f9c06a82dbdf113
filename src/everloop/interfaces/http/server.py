"""Runs the HTTP server (uvicorn) over an engine and its background services until a signal."""

import errno
import ipaddress
import signal
import socket
import sys
from argparse import Namespace
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager

import msgspec
import segno
import uvicorn

from everloop.access import make_pairing_code
from everloop.adapters import lan_address
from everloop.app import USER, Engine
from everloop.errors import Forbidden, Invalid, Unavailable
from everloop.interfaces.http.app import build_application
from everloop.interfaces.http.mounts import MountedApp
from everloop.interfaces.http.security.connections import server_config
from everloop.interfaces.http.security.middleware import LOOPBACK_HOSTS, SecurityRules
from everloop.interfaces.http.streaming.broadcast import Broadcast
from everloop.services import Services
from everloop.settings import ServeSettings, load

ALL_INTERFACES = ("0.0.0.0", "::")  # noqa: S104 - only on request
SHUTDOWN_TIMEOUT_S = 3
PORT_MAX = 65_535
SIGNALS = (signal.SIGINT, signal.SIGTERM)


# None: it is not configured. The names are the host names that the server answers to.
MountFactory = Callable[[Services, Sequence[str]], MountedApp | None]


def serve(asked: Namespace, annexes: Sequence[MountFactory] = ()) -> int:
    """Serve with the command line's options until a signal, and return the exit code."""
    settings = load(home=asked.home)
    place = apply_options(settings.serve, asked)
    with (
        closing(_bind(place)) as listener,
        Engine.open(settings=settings, tenant=asked.tenant) as engine,
        Services(engine, settings) as running,
    ):
        rules, beat_s = security_rules(place), settings.serve.beat_s
        broadcast = Broadcast(engine.log, running.turns.live, beat_s=beat_s)
        made = (make(running, rules.hosts) for make in annexes)
        mounted = [one for one in made if one is not None]
        config = server_config(
            build_application(running, rules, broadcast, mounted),
            place,
            own_logs=settings.observe.logs != "off",
            timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_S,
        )
        port = listener.getsockname()[1]
        place = msgspec.structs.replace(place, port=port)
        _Server(config, engine, broadcast, place).run(sockets=[listener])
    return 0


def apply_options(place: ServeSettings, asked: Namespace) -> ServeSettings:
    """The settings with the command line's address and port.

    Raises:
        Invalid: there is no such port.
        Forbidden: the settings alone would expose the server to the network.
    """
    host = asked.address or ("0.0.0.0" if asked.lan else place.host)  # noqa: S104 - `--lan`
    port = place.port if asked.port is None else asked.port
    if not 0 <= port <= PORT_MAX:
        raise Invalid(
            f"{port} is not a port", hint=f"Use a number up to {PORT_MAX}; 0 takes any free port."
        )
    if not is_loopback(host) and not (asked.address or asked.lan):
        raise Forbidden(
            f"the settings would open the server to the network, on {host}",
            hint=f"If you want that, say so when you start it: everloop serve --host {host}",
        )
    return msgspec.structs.replace(place, host=host, port=port)


def security_rules(place: ServeSettings) -> SecurityRules:
    """The rules of the security middleware for a server at this address."""
    own = (lan_address(),) if place.host in ALL_INTERFACES else (_url_host(place.host),)
    return SecurityRules(
        hosts=tuple(dict.fromkeys((*LOOPBACK_HOSTS, *own, *place.host_names))),
        body_bytes_max=place.body_bytes_max,
        import_bytes_max=place.import_bytes_max,
        sign_in_bytes_max=place.sign_in_bytes_max,
        head_wait_s=place.head_wait_s,
        secure=place.secure,
    )


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def browser_url(place: ServeSettings) -> str:
    """The URL to open in a browser."""
    if place.secure and place.host_names:
        return f"https://{place.host_names[0]}"
    host = lan_address() if place.host in ALL_INTERFACES else place.host
    return f"http://{_url_host(host)}:{place.port}"


def _url_host(host: str) -> str:
    bare = host.strip("[]").lower()
    return f"[{bare}]" if ":" in bare else bare


def _bind(place: ServeSettings) -> socket.socket:
    bare = place.host.strip("[]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    try:
        return socket.create_server((bare, place.port), family=family, backlog=2048)
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            raise Unavailable(
                f"port {place.port} is already in use",
                hint="Stop the program that uses it, or take a free port: everloop serve --port 0",
            ) from problem
        raise Unavailable(
            f"cannot listen on {place.host}, port {place.port}: {_reason(problem)}",
            hint="Choose another address or port: everloop serve --host ADDRESS --port PORT",
        ) from problem


def _reason(problem: OSError) -> str:
    """The system's own sentence, without what Python adds to it."""
    return (problem.strerror or str(problem)).partition(" (while")[0]


class _Server(uvicorn.Server):
    """A uvicorn server that prints how to sign in and closes event streams before shutdown."""

    def __init__(
        self, config: uvicorn.Config, engine: Engine, broadcast: Broadcast, place: ServeSettings
    ) -> None:
        super().__init__(config)
        self._engine, self._broadcast, self._place = engine, broadcast, place

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Shut down on a signal and return, so that partial answers can still be saved."""
        before = {one: signal.signal(one, self.handle_exit) for one in SIGNALS}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then print the address and, at a terminal, a pairing link."""
        await super().startup(sockets)
        if self.started:
            self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down. Open event streams are closed first, because they would delay it."""
        self._broadcast.close()
        await super().shutdown(sockets)

    def _announce(self) -> None:
        """Print the address, and a link that signs in as the user if one sits at a terminal.

        A script or an agent's shell that starts a server, and whoever reads the log of a service,
        gets none: `everloop pair` gives one to the user.
        """
        engine, place = self._engine, self._place
        if sys.stdin is None or not sys.stdin.isatty():  # a service may have none
            sys.stdout.write(f"Everloop is at {browser_url(place)}\n")
            sys.stdout.write("To sign in, run `everloop pair` at a terminal.\n")
            sys.stdout.flush()
            return
        lives_s = place.code_lives_s
        code = make_pairing_code(engine.log, engine, engine.ports, USER, lives_s=lives_s)
        address = browser_url(place)
        link = f"{address}/#pair={code}"
        sys.stdout.write(f"Everloop is at {address}\n")
        sys.stdout.write(f"Open this once, within {lives_s // 60} minutes, to sign in:\n{link}\n")
        if place.secure or not is_loopback(place.host):
            segno.make(link).terminal(sys.stdout, compact=True)
        sys.stdout.flush()
