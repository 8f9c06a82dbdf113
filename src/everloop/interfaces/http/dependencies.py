"""FastAPI dependencies of the routes: the running engine and the caller of a request.

They are `async` although they await nothing: FastAPI would run sync ones in a thread pool.
"""

from typing import Annotated, cast

from fastapi import Depends, Request

from everloop.access.credentials import load_access
from everloop.access.state import Device
from everloop.app import Engine
from everloop.interfaces.http.security.middleware import SecurityRules
from everloop.interfaces.http.security.rate_limit import PasskeyChallenges, SignInRateLimit
from everloop.interfaces.http.streaming.broadcast import Broadcast
from everloop.log import Context
from everloop.services import Services

DAY_S = 86_400


class Dependencies:
    """Everything the routes depend on, stored as one value on the application."""

    def __init__(self, running: Services, rules: SecurityRules, broadcast: Broadcast) -> None:
        self.running = running
        self.rules = rules
        self.broadcast = broadcast
        world = running.engine.world
        self.sign_in_limit = SignInRateLimit(world, running.settings.serve.tries_max)
        self.challenges = PasskeyChallenges(world)

    @property
    def engine(self) -> Engine:
        """The engine."""
        return self.running.engine

    @property
    def oldest_valid_pairing_us(self) -> int:
        """Devices paired before this time have expired and must pair again."""
        lives_s = self.running.settings.serve.device_lives_days * DAY_S
        return self.engine.world.clock.now_us() - lives_s * 1_000_000

    def is_authorised(self, device_id: str) -> bool:
        """Whether a device is still authorised: neither revoked nor expired."""
        device = load_access(self.engine.log).devices.get(device_id)
        return device is not None and device.since_us >= self.oldest_valid_pairing_us


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
