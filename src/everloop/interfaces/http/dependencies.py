"""FastAPI dependencies of the routes: the running engine and the caller of a request.

They are `async` although they await nothing: FastAPI would run sync ones in a thread pool.
"""

from typing import Annotated, cast

from fastapi import Depends, Request

from everloop.access import (
    Device,
    authenticate_device,
    authenticate_ticket,
    issue_ticket,
    load_access,
)
from everloop.app import Engine
from everloop.interfaces.http.security.middleware import SecurityRules
from everloop.interfaces.http.security.rate_limit import PasskeyChallenges, SignInRateLimit
from everloop.interfaces.http.streaming.broadcast import Broadcast
from everloop.log import Context
from everloop.services import Services

DAY_S = 86_400
CLOCK_TOLERANCE_US = DAY_S * 1_000_000  # nodes may differ; a device of a later future is refused


class Dependencies:
    """Everything the routes depend on, stored as one value on the application."""

    def __init__(self, running: Services, rules: SecurityRules, broadcast: Broadcast) -> None:
        self.running = running
        self.rules = rules
        self.broadcast = broadcast
        ports = running.engine.ports
        self.sign_in_limit = SignInRateLimit(ports, running.settings.serve.tries_max)
        self.challenges = PasskeyChallenges(ports)

    @property
    def engine(self) -> Engine:
        """The engine."""
        return self.running.engine

    def by_credential(self, text: str) -> Device | None:
        """The device with this whole credential."""
        return self._current(authenticate_device(self.engine.log, text))

    def by_ticket(self, cookie: str, ticket: str) -> Device | None:
        """The device with this cookie and a ticket made for it."""
        now_us = self.engine.ports.clock.now_us()
        return self._current(authenticate_ticket(self.engine.log, cookie, ticket, now_us))

    def ticket(self, device: Device, cookie: str) -> str:
        """A ticket for the links of a browser with this cookie; empty without one."""
        return issue_ticket(device, cookie, self.engine.ports.clock.now_us()) if cookie else ""

    def is_authorised(self, device_id: str) -> bool:
        """Whether a device is still authorised: neither revoked nor expired."""
        device = load_access(self.engine.log).devices.get(device_id)
        return self._current(device) is not None

    def is_expired(self, device: Device) -> bool:
        """Whether a device must pair again: it is too old, or paired while the clock was wrong."""
        lives_us = self.running.settings.serve.device_lives_days * DAY_S * 1_000_000
        age_us = self.engine.ports.clock.now_us() - device.since_us
        return not -CLOCK_TOLERANCE_US <= age_us <= lives_us

    def _current(self, device: Device | None) -> Device | None:
        return None if device is None or self.is_expired(device) else device


async def current_dependencies(request: Request) -> Dependencies:
    """The dependencies of the application that serves this request."""
    return cast("Dependencies", request.app.state.dependencies)


async def current_device(request: Request) -> Device:
    """The authenticated device; the security middleware has rejected everybody else."""
    return cast("Device", request.state.device)


async def current_actor(request: Request) -> Context:
    """The actor of this request: a paired device acts as the user."""
    paired: Device | None = request.state.device
    return Context(actor="user", session=paired.device_id if paired else "")


Deps = Annotated[Dependencies, Depends(current_dependencies)]
DeviceDep = Annotated[Device, Depends(current_device)]
ActorDep = Annotated[Context, Depends(current_actor)]
